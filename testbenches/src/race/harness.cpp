// Clocks a verilated benchmark. Each line of standard input is a number of cycles to run; the answer is a line with
// the nanoseconds of processor time they took and the signature after them.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include MODEL_HEADER

// Processor time of this process, nanoseconds.
static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main() {
    VerilatedContext context;
    MODEL top{&context};
    auto edge = [&top] {
        top.clk_i = 0;
        top.eval();
        top.clk_i = 1;
        top.eval();
    };
    top.rst_i = 1;
    edge();
    top.rst_i = 0;
    uint64_t cycles;
    while (std::scanf("%" SCNu64, &cycles) == 1) {
        const double start = now();
        for (uint64_t i = 0; i < cycles; ++i) edge();
        const double taken = now() - start;
        std::printf("%.0f %016" PRIx64 "\n", taken, static_cast<uint64_t>(top.signature_o));
        std::fflush(stdout);
    }
    top.final();
}
