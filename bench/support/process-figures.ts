import { readdirSync, readFileSync } from 'node:fs'

/** Returns the user and system time of a process with all its threads on Linux; NaN elsewhere. */
export function cpuSeconds(pid: number): number {
  try {
    // Fields 14 and 15, in hundredths of a second. The line is split after the name, which may contain spaces, so field 3
    // is the first one.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

export interface MemoryParts {
  readonly serverMb: number
  /** Its child processes, mostly models. */
  readonly modelsMb: number
}

/** Returns the anonymous memory of a process and of its children on Linux; NaN elsewhere. */
export function memoryPartsOf(pid: number): MemoryParts {
  try {
    const [serverMb = 0, ...others] = [pid, ...childrenOf(pid)].map(anonymousMb)
    return { serverMb, modelsMb: others.reduce((sum, one) => sum + one, 0) }
  } catch {
    return { serverMb: Number.NaN, modelsMb: Number.NaN }
  }
}

export function memoryOf(pid: number): string {
  const { serverMb, modelsMb } = memoryPartsOf(pid)
  return `memory ${(serverMb + modelsMb).toFixed(0)} MB: server ${serverMb.toFixed(0)}, models ${modelsMb.toFixed(0)}`
}

function anonymousMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
