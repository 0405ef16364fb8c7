import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { storeSchema } from '../compose-store.ts'
import { examineAccess, examineMachine, examineSchema, type Finding } from '../operator/examine.ts'
import { examineIndex } from '../search/examine-index.ts'
import { inspectIndex } from '../storage/segments/inspect-index.ts'
import { newestMigration } from '../storage/sql/migrate.ts'
import type { Context } from './context.ts'
import { inWords } from './in-words.ts'
import { withWorkbench } from './with-workbench.ts'

const marks = { ok: '  ok   ', warning: '  note ', failure: '  FAIL ' } as const

export function doctor(program: Command, context: Context): void {
  program
    .command('doctor')
    .description('say what is wrong with the installation and what to do about it')
    .action(async () => {
      const config = context.config()
      context.say('  ok    settings: all valid')
      const findings = [...(await examineMachine(config.dataDir))]
      // Looking must not make a folder where there is none.
      const broken = findings.some(({ state }) => state === 'failure')
      if (!broken && existsSync(config.dataDir)) findings.push(...(await examineStore(context)))
      for (const { state, about, advice } of findings) {
        context.say(`${marks[state]} ${about}${advice === null ? '' : `\n         do: ${advice}`}`)
      }
      if (findings.some(({ state }) => state === 'failure')) context.fail()
    })
}

async function examineStore(context: Context): Promise<readonly Finding[]> {
  try {
    const old = examineSchema(await storeSchema(context.config()), newestMigration)
    // Opening it would bring it up to date.
    if (old !== null) return [old]
    return await withWorkbench(context, async ({ operator, store }) => [
      ...(await examineAccess(operator.read)),
      ...(await examineIndex(store.indexSource, await inspectIndex(context.config().dataDir))),
    ])
  } catch (error) {
    const about = `the store cannot be opened: ${inWords(error).message}`
    return [{ state: 'failure', about, advice: 'mend what this names, then run tidemark doctor again' }]
  }
}
