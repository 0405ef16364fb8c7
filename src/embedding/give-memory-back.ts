/**
 * glibc keeps freed memory that lies below something still in use: 15 to 160 MB of a model's process after texts of every
 * length. This gives it to the system. Where there is no such call (macOS, Windows, musl) nothing is done.
 */
export const giveMemoryBack: () => void = await trim()

async function trim(): Promise<() => void> {
  try {
    const { dlopen } = await import('node:ffi')
    const { functions } = dlopen(null, { malloc_trim: { arguments: ['u64'], return: 'i32' } })
    return () => void functions.malloc_trim(0n)
  } catch {
    return () => {}
  }
}
