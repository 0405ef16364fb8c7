import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crashRounds } from '../../test/contracts/crash/crash-rounds.ts'

/** Ends a writing process with SIGKILL so many times; throws when something is lost or there twice. */
export async function killRounds(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-kill-'))
  try {
    const position = await crashRounds(folder, rounds, console.log)
    console.log(`killed ${rounds} times over ${position} batches: nothing lost, nothing twice, no rebuild`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
