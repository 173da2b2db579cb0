// Drives a verilated circuit through its ports with recorded inputs. Each line of standard input is a number of
// cycles to run; the answer is a line with the nanoseconds of processor time they took and the exclusive or of what was observed. With
// an argument the circuit is not evaluated: what is left is the cost of driving it.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include MODEL_HEADER

// Processor time of this process, nanoseconds.
static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static const uint64_t RECORD[@CYCLES@][@WORDS@] = {
@RECORD@};

static void drive(MODEL& top, const uint64_t* record) {
@DRIVE@}

static uint64_t observe(const MODEL& top) {
    uint64_t sum = 0;
@OBSERVE@    return sum;
}

int main(int count, char**) {
    VerilatedContext context;
    MODEL top{&context};
    const bool evaluates = count == 1;
    auto eval = [&] {
        if (evaluates) top.eval();
    };
    top.rst_i = 1;
    top.clk_i = 0;
    eval();
    top.clk_i = 1;
    eval();
    top.rst_i = 0;
    uint64_t cycles;
    uint64_t sum = 0;
    uint64_t next = 0;
    while (std::scanf("%" SCNu64, &cycles) == 1) {
        const double start = now();
        for (uint64_t i = 0; i < cycles; ++i) {
            drive(top, RECORD[next]);
            next = (next + 1) % @CYCLES@;
            top.clk_i = 0;
            eval();
            sum ^= observe(top);
            top.clk_i = 1;
            eval();
        }
        const double taken = now() - start;
        std::printf("%.0f %016" PRIx64 "\n", taken, sum);
        std::fflush(stdout);
    }
    top.final();
}
