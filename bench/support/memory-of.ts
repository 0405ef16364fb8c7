import { readdirSync, readFileSync } from 'node:fs'

/** Of the process and its children, as Linux tells it: what is theirs alone and what they share in memory. */
export function memoryOf(pid: number): string {
  try {
    const parts = [pid, ...childrenOf(pid)].map((one) => {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
      return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024
    })
    const [own = 0, ...others] = parts
    const model = others.reduce((sum, one) => sum + one, 0)
    return `memory ${(own + model).toFixed(0)} MB: server ${own.toFixed(0)}, model process ${model.toFixed(0)}`
  } catch {
    return 'memory unknown on this system'
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
