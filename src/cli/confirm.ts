import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { TidemarkError } from '../platform/errors.ts'
import { printable } from './printable.ts'

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

const ownTerminal: Terminal = { input: process.stdin, output: process.stderr }

/** Asks before an irreversible action. Without a terminal, `--yes` is required. `what` begins with a verb. */
export async function confirm(what: string, yes: boolean, { input, output } = ownTerminal): Promise<boolean> {
  if (yes) return true
  if (input.isTTY !== true) {
    throw new TidemarkError('invalid_request', `there is no terminal to ask on: add --yes to ${what}`)
  }
  const lines = createInterface({ input, output })
  try {
    const question = printable(`${what[0]!.toUpperCase()}${what.slice(1)}? This cannot be undone. [y/N] `)
    const answer = await Promise.race([lines.question(question), once(lines, 'close').then(() => '')])
    return /^y(es)?$/i.test(answer.trim())
  } catch (error) {
    // Ctrl-C or Ctrl-D.
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error
    output.write('\n')
    return false
  } finally {
    lines.close()
  }
}
