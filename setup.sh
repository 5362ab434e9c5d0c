#!/usr/bin/env bash
# Install the Debian packages taper is built from, runs with, and is tested with; says what it installs, does nothing when
# all is there.
#   ./setup.sh [test]     test: also what only some tests use; without one of these they are skipped by name
set -eu
if [ $# -gt 1 ] || [ "${1:-test}" != test ]; then
    echo "setup.sh: want nothing or 'test', got '$*'" >&2
    exit 2
fi
needed=(
    gcc g++ make pkg-config libc6-dev       # building (C++ only for the tests of the CUDA kernels)
    libopenblas-openmp-dev                  # matrix products on the CPU
    libjansson-dev libyaml-dev libsqlite3-dev libuv1-dev libpcre2-dev libsodium-dev zlib1g-dev
    libxxhash-dev                           # digests of files
    libunistring-dev                        # Unicode's form C, for tokenizers that ask for it
    libmicrohttpd-dev libjs-dygraphs        # the page (taper serve), and its curves
    gnuplot-nox curl sqlite3                # figures, downloads, a shell for the database
    libcmocka-dev                           # every test program
)
for_tests=(
    clang-14 libclang-rt-14-dev libomp-14-dev # a second compiler
    valgrind                                # leaks
    slurm-wlm munge                         # a private cluster: docs/slurm.md
    chromium python3                        # a browser that opens the page, and what drives it
)
[ $# -gt 0 ] || for_tests=()
if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    echo "setup.sh: this machine has no apt; install the equivalents of: ${needed[*]} ${for_tests[*]}" >&2
    exit 1
fi
missing() { # PACKAGE...: those that are not installed
    local package
    for package; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' || echo "$package"
    done
}
mapfile -t wanted < <(missing "${needed[@]}" "${for_tests[@]}")
[ ${#wanted[@]} -gt 0 ] || exit 0
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
        echo "setup.sh: as root: apt-get install ${wanted[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup.sh: installing ${wanted[*]}"
export DEBIAN_FRONTEND=noninteractive
install() {
    "${as_root[@]}" apt-get install -q -y --no-install-recommends "$@"
}
"${as_root[@]}" apt-get update -q
mapfile -t wanted < <(missing "${needed[@]}")
[ ${#wanted[@]} -eq 0 ] || install "${wanted[@]}"
mapfile -t wanted < <(missing "${for_tests[@]}")
# One that this release of Debian has not got must not keep the others away.
if [ ${#wanted[@]} -gt 0 ] && ! install "${wanted[@]}"; then
    for package in "${wanted[@]}"; do
        install "$package" || echo "setup.sh: no $package: the tests that need it are skipped" >&2
    done
fi
