import { type Finding, failure, warning } from '../operator/examine.ts'
import { isDamage } from '../storage/full-disk.ts'
import { inWords } from './in-words.ts'

const again = 'fix this, then run tidemark doctor again'

/**
 * Runs steps that each check one part. If a step fails, that is reported with the name of its part, and the others
 * still run.
 */
export class Examination {
  readonly #findings: Finding[] = []
  /** The causes of failed steps. Each is reported only with the first part that failed. */
  readonly #reported = new Set<string>()
  readonly #unchecked: string[] = []

  async step(part: string, examine: () => Promise<readonly Finding[]>, advice = again): Promise<void> {
    try {
      this.#findings.push(...(await examine()))
    } catch (error) {
      this.failed(part, 'checked', error, advice)
    }
  }

  failed(part: string, done: 'checked' | 'opened', error: unknown, advice = again): void {
    const { message } = inWords(error)
    if (this.#reported.has(message)) {
      this.leaveOut(part)
      return
    }
    this.#reported.add(message)
    const isDamaged = isDamage(error) || isDamage((error as Error).cause)
    const remedy = isDamaged ? 'tidemark restore FOLDER --force, with the newest backup' : advice
    this.#findings.push(failure(`${part} cannot be ${done}: ${message}`, remedy))
  }

  /** Notes parts that cannot be checked for a reason that was already reported. */
  leaveOut(...parts: readonly string[]): void {
    this.#unchecked.push(...parts)
  }

  get findings(): readonly Finding[] {
    if (this.#unchecked.length === 0) return this.#findings
    const unchecked = `not checked, because of a problem above: ${this.#unchecked.join('; ')}`
    return [...this.#findings, warning(unchecked, 'fix that problem, then run tidemark doctor again')]
  }
}
