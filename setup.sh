#!/usr/bin/env bash
# Install the Debian packages taper is built from and tested with; says what it installs, does nothing when all is there.
#   ./setup.sh [test]     test: also what only some tests use, which are skipped without
set -eu
if [ $# -gt 1 ] || [ "${1:-test}" != test ]; then
    echo "setup.sh: want nothing or 'test', got '$*'" >&2
    exit 2
fi
packages=(
    gcc g++ make pkg-config libc6-dev       # building (C++ only for the tests of the CUDA kernels)
    libopenblas-openmp-dev                  # matrix products on the CPU
    libjansson-dev libyaml-dev libsqlite3-dev libuv1-dev libpcre2-dev libsodium-dev zlib1g-dev
    libxxhash-dev                           # digests of files
    libunistring-dev                        # Unicode's form C, for tokenizers that ask for it
    libmicrohttpd-dev libjs-dygraphs        # the page (taper serve), and its curves
    gnuplot-nox curl sqlite3                # figures, downloads, a shell for the database
    libcmocka-dev clang-14 libclang-rt-14-dev libomp-14-dev valgrind # tests: second compiler, sanitizers, leaks
)
[ $# -eq 0 ] || packages+=(slurm-wlm munge chromium) # a private cluster (docs/slurm.md); a browser for the page
if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    echo "setup.sh: this machine has no apt; install the equivalents of: ${packages[*]}" >&2
    exit 1
fi
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
        echo "setup.sh: as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
