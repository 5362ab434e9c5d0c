#include "tests/gpu/cpu_dialect.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <sys/mman.h>

namespace
{
enum : size_t { STACK = 64 << 10 };
enum : unsigned { WARP = 32, THREADS_MOST = 1024 };

struct fiber {
    void *stack_pointer;
    dim3 index;
    bool done;
    unsigned mask, parity;
};

struct warp {
    unsigned arrived, generation;
    uint64_t values[2][WARP]; /* two sets: a fast lane may begin the next exchange while a slow one reads the last */
};

std::vector<fiber> fibers;
std::vector<warp> warps;
std::vector<unsigned> order, place; /* the order of the fibers, and each one's place in it */
unsigned count, alive, current, waiting, generation, idle, schedule;
const std::function<void()> *body;
void *main_stack_pointer;
char *stacks;
std::unique_ptr<unsigned char[]> shared;
} // namespace

extern "C" void dialect_switch(void **save, void *to);
extern "C" void sim_set_schedule(unsigned value)
{
    schedule = value;
}

/* Save the callee-saved registers on the stack, exchange the stack pointer, take them from the other stack. */
#if defined(__x86_64__)
enum : size_t { SAVED_WORDS = 6 };
__asm__(".text\n"
        ".globl dialect_switch\n"
        ".type dialect_switch, @function\n"
        "dialect_switch:\n"
        "  push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "  ret\n"
        ".size dialect_switch, . - dialect_switch\n");
#elif defined(__aarch64__)
enum : size_t { SAVED_WORDS = 20 };
__asm__(".text\n"
        ".globl dialect_switch\n"
        ".type dialect_switch, %function\n"
        "dialect_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]; stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size dialect_switch, . - dialect_switch\n");
#else
#error "the CPU dialect knows x86-64 and aarch64"
#endif

namespace dialect
{
dim3 thread_index, block_index, block_size, grid_size;

[[noreturn]] static void fault(const char *text)
{
    fprintf(stderr, "kernel fault: %s (block %u,%u,%u, thread %u of %u; %u alive, %u at a barrier)\n", text,
            block_index.x, block_index.y, block_index.z, current, count, alive, waiting);
    abort();
}

static void enter(unsigned i, void **save)
{
    current = i;
    thread_index = fibers[i].index;
    dialect_switch(save, fibers[i].stack_pointer);
}

static unsigned next_alive(unsigned from)
{
    unsigned p = place[from];
    do
        p = p + 1 == count ? 0 : p + 1;
    while (fibers[order[p]].done);
    return order[p];
}

/* Let the others run. When everyone has only waited for two rounds, nobody can go on. */
static void yield()
{
    unsigned me = current;
    if (++idle > 2 * count + 2)
        fault("threads of a block wait for each other at different places");
    unsigned next = next_alive(me);
    if (next != me)
        enter(next, &fibers[me].stack_pointer);
}

/* Never returns, so it has no locals: the address sanitizer would leave their surroundings forbidden. */
static void fiber_main()
{
    static void *unused;
    (*body)();
    fibers[current].done = true;
    alive--;
    idle = 0;
    if (waiting)
        fault("a thread returned while others wait at a barrier");
    if (!alive)
        dialect_switch(&unused, main_stack_pointer);
    enter(next_alive(current), &unused);
    abort();
}

void barrier()
{
    if (alive != count)
        fault("a barrier after a thread of the block returned");
    unsigned mine = generation;
    if (++waiting == count) {
        waiting = 0;
        generation++;
        idle = 0;
        return;
    }
    do
        yield();
    while (generation == mine);
}

unsigned lane()
{
    return current % WARP;
}

/* Wait until every lane of the mask is here; true when the warp may go on. */
static void warp_barrier(unsigned mask)
{
    warp &w = warps[current / WARP];
    unsigned first = current / WARP * WARP, mine = w.generation;
    if (!(mask >> lane() & 1))
        fault("a shuffle whose mask leaves out the own lane");
    w.arrived |= 1u << lane();
    fibers[current].mask = mask;
    if ((w.arrived & mask) == mask) {
        for (unsigned l = 0; l < WARP; l++)
            if ((mask >> l & 1) && fibers[first + l].mask != mask)
                fault("lanes of a shuffle name different masks");
        w.arrived &= ~mask;
        w.generation++;
        idle = 0;
        return;
    }
    do
        yield();
    while (w.generation == mine);
}

uint64_t exchange(unsigned mask, uint64_t value, unsigned source)
{
    warp &w = warps[current / WARP];
    unsigned set = fibers[current].parity ^= 1;
    w.values[set][lane()] = value;
    warp_barrier(mask);
    if (source >= WARP || !(mask >> source & 1) || current / WARP * WARP + source >= count)
        fault("a shuffle reads a lane outside its mask");
    return w.values[set][source];
}

void *shared_memory()
{
    return shared.get();
}

/* A stack on which dialect_switch "returns" into fiber_main. Tops are staggered, or all would share cache sets. */
static void *fresh_stack(unsigned i)
{
    uintptr_t top = (uintptr_t)(stacks + (i + 1) * STACK - 256 - i * 192 % 8192) & ~(uintptr_t)15;
    void **at = (void **)top;
#if defined(__x86_64__)
    *--at = nullptr;
    *--at = (void *)fiber_main;
    at -= SAVED_WORDS;
    memset(at, 0, SAVED_WORDS * sizeof *at);
#else
    at -= SAVED_WORDS;
    memset(at, 0, SAVED_WORDS * sizeof *at);
    at[11] = (void *)fiber_main; /* x30 */
#endif
    return at;
}

static void set_order()
{
    uint64_t state = schedule;
    order.resize(count);
    place.resize(count);
    for (unsigned i = 0; i < count; i++)
        order[i] = schedule == 1 ? count - 1 - i : i;
    for (unsigned i = count - 1; schedule > 1 && i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::swap(order[i], order[(state >> 33) % (i + 1)]);
    }
    for (unsigned i = 0; i < count; i++)
        place[order[i]] = i;
}

static void run_block(size_t shared_bytes)
{
    memset(shared.get(), 0xff, shared_bytes);
    for (unsigned i = 0; i < count; i++) {
        dim3 at(i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y);
        fibers[i] = fiber{fresh_stack(i), at, false, 0, 0};
    }
    alive = count;
    waiting = idle = 0;
    warps.assign((count + WARP - 1) / WARP, warp());
    enter(order[0], &main_stack_pointer);
    for (const warp &w : warps)
        if (w.arrived)
            fault("threads returned while a shuffle waits for them");
}

void run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &thread)
{
    count = block.x * block.y * block.z;
    if (count == 0 || count > THREADS_MOST || grid.x == 0 || grid.y == 0 || grid.z == 0)
        fault("a launch with no threads, or too many");
    if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || block.z > 64 || shared_bytes > 48 << 10)
        fault("a launch beyond what a device takes: its grid, or its shared memory");
    if (!stacks)
        stacks = (char *)mmap(nullptr, THREADS_MOST * STACK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    block_size = block;
    grid_size = grid;
    body = &thread;
    shared.reset(new unsigned char[shared_bytes]); /* exactly what was asked for, so that an overrun shows */
    fibers.assign(count, fiber{nullptr, dim3(), false, 0, 0});
    set_order();
    unsigned blocks = grid.x * grid.y * grid.z;
    for (unsigned k = 0; k < blocks; k++) {
        unsigned b = schedule == 1 ? blocks - 1 - k : k;
        block_index = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        run_block(shared_bytes);
    }
}
} // namespace dialect
