import { readdirSync, readFileSync } from 'node:fs'

/** The unit of /proc (USER_HZ), which is the same on every kernel. */
const ticksASecond = 100

/**
 * Returns the CPU seconds that the processes of a group have used, including their ended children. Returns 0 on systems
 * without /proc.
 */
export function cpuSecondsOfGroup(group: number): number {
  let ticks = 0
  for (const process of processes()) {
    const fields = fieldsOf(process)
    if (Number(fields[groupField]) !== group) continue
    for (const one of fields.slice(...timeFields)) ticks += Number(one)
  }
  return ticks / ticksASecond
}

/** Field numbers after the process name, which may hold anything. */
const groupField = 2
const timeFields = [11, 15] as const

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** Empty if the process has ended meanwhile. */
function fieldsOf(process: string): string[] {
  try {
    const line = readFileSync(`/proc/${process}/stat`, 'utf8')
    return line.slice(line.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
