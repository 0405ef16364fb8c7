import { readdirSync, readFileSync } from 'node:fs'

/** Of the clock that /proc counts in: the kernel tells every process the same, whatever its own is. */
const ticksASecond = 100

/**
 * Seconds of CPU that the processes of a group have used, with those of their children that have ended. 0 where there is no
 * /proc to read.
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

/** Counted from what stands behind the name, which may have anything in it. */
const groupField = 2
const timeFields = [11, 15] as const

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** None of one that ends meanwhile. */
function fieldsOf(process: string): string[] {
  try {
    const line = readFileSync(`/proc/${process}/stat`, 'utf8')
    return line.slice(line.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
