import { printableOnOneLine } from './printable.ts'

const terminalEveryMs = 100
const elsewhereEveryMs = 5000
const barWidth = 24

export interface ProgressState {
  readonly done: number
  /** null if unknown, as for standard input. */
  readonly total: number | null
  readonly text: string
}

/**
 * A progress line on standard error: rewritten in place on a terminal, and a new line every few seconds elsewhere, so
 * that logs stay readable.
 */
export class Progress {
  #startedAt = Date.now()
  #shownAt = 0
  #stream: NodeJS.WriteStream

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
  }

  show(state: ProgressState): void {
    const now = Date.now()
    if (now - this.#shownAt < (this.#stream.isTTY ? terminalEveryMs : elsewhereEveryMs)) return
    this.#shownAt = now
    this.#write(progressLine(state, now - this.#startedAt))
  }

  /** Always shows the last line. */
  end(state: ProgressState): void {
    this.#write(progressLine(state, Date.now() - this.#startedAt))
    if (this.#stream.isTTY) this.#stream.write('\n')
  }

  #write(text: string): void {
    const line = printableOnOneLine(text)
    this.#stream.write(
      this.#stream.isTTY ? `\r\u001b[2K${line.slice(0, this.#stream.columns || undefined)}` : `${line}\n`,
    )
  }
}

export function progressLine({ done, total, text }: ProgressState, elapsedMs: number): string {
  if (total === null || total === 0) return text
  const share = Math.min(1, done / total)
  const filled = Math.round(share * barWidth)
  const left = share > 0 && share < 1 ? `, ${duration((elapsedMs * (1 - share)) / share)} left` : ''
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${(share * 100).toFixed(0).padStart(3)} %  ${text}${left}`
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
