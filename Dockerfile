# warpfile with the tools that it can use: docker build -t warpfile . && docker run --rm -v "$PWD:/work" warpfile run hotspot
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package warpfile && strip target/release/warpfile

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        berkeley-abc g++ iverilog make qflow-tech-osu018 verilator yosys z3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/target/release/warpfile /usr/local/bin/
COPY --from=build /source/LICENSE-MIT /source/LICENSE-APACHE /usr/share/doc/warpfile/
# Shells and `man` are told of the command as in an installation.
RUN mkdir -p /usr/local/share/man/man1 /usr/share/bash-completion/completions \
    && warpfile man -o /usr/local/share/man/man1 \
    && warpfile completions bash >/usr/share/bash-completion/completions/warpfile
WORKDIR /work
ENTRYPOINT ["warpfile"]
CMD ["--help"]
