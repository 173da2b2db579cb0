// Clocks a verilated benchmark. Each line of standard input is a number of cycles to run; the answer is a line with
// the nanoseconds they took and the signature after them.
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include MODEL_HEADER

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
        const auto start = std::chrono::steady_clock::now();
        for (uint64_t i = 0; i < cycles; ++i) edge();
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        std::printf("%.0f %016" PRIx64 "\n", taken.count(), static_cast<uint64_t>(top.signature_o));
        std::fflush(stdout);
    }
    top.final();
}
