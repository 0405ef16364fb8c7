import { readdirSync, readFileSync } from 'node:fs'

export interface MemoryParts {
  readonly serverMb: number
  /** Its child processes: the models, mostly. */
  readonly modelsMb: number
}

/** Of the process and its children, as Linux tells it: what is theirs alone and what they share in memory. Null elsewhere. */
export function memoryPartsOf(pid: number): MemoryParts | null {
  try {
    const [serverMb = 0, ...others] = [pid, ...childrenOf(pid)].map((one) => {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
      return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024
    })
    return { serverMb, modelsMb: others.reduce((sum, one) => sum + one, 0) }
  } catch {
    return null
  }
}

export function memoryOf(pid: number): string {
  const parts = memoryPartsOf(pid)
  if (parts === null) return 'memory unknown on this system'
  const { serverMb, modelsMb } = parts
  return `memory ${(serverMb + modelsMb).toFixed(0)} MB: server ${serverMb.toFixed(0)}, model process ${modelsMb.toFixed(0)}`
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
