import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { namedModels } from '../embedding/named-models.ts'
import { examineAccess, examineMachine, examineSchema, type Finding, failure } from '../operator/examine.ts'
import { examineIndex } from '../search/examine-index.ts'
import { examineArtifacts } from '../storage/artifact-stores.ts'
import { backendOf } from '../storage/backends.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import type { Context } from './context.ts'
import { inWords } from './in-words.ts'
import { withWorkbench } from './with-workbench.ts'

const marks = { ok: '  ok   ', warning: '  note ', failure: '  FAIL ' } as const

export function doctor(program: Command, context: Context): void {
  program
    .command('doctor')
    .description('Check the installation and say what to do about problems.')
    .action(async () => {
      const config = context.config()
      // As a start of the server does: it says what the name of a model may be.
      namedModels(config)
      context.say('  ok    settings: all valid')
      const findings = [...(await examineMachine(config.dataDir))]
      // Looking must not make a folder where there is none.
      const broken = findings.some(({ state }) => state === 'failure')
      const isThere = backendOf(config).isThere() || existsSync(config.dataDir)
      if (!broken && isThere) findings.push(...(await examineStore(context, config)))
      findings.push(...(await examineArtifacts(config)))
      for (const { state, about, advice } of findings) {
        context.say(`${marks[state]} ${about}${advice === null ? '' : `\n         do: ${advice}`}`)
      }
      if (findings.some(({ state }) => state === 'failure')) context.fail()
    })
}

async function examineStore(context: Context, config: Config): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  try {
    const upkeep = await backendOf(config).upkeep()
    findings.push(...(await upkeep.examine()))
    const { newest, breaking } = await upkeep.schema()
    const otherVersion = examineSchema(newest, breaking, upkeep.newestSchema)
    if (otherVersion !== null) findings.push(otherVersion)
    // Opening it would bring it up to date.
    if (newest < upkeep.newestSchema) return findings
    await withWorkbench(context, async ({ operator, store }) => {
      findings.push(...(await examineAccess(operator.read)))
      const home = indexHomeOf(config, await store.indexSource.instance())
      findings.push(...(await examineIndex(store.indexSource, home)))
    })
  } catch (error) {
    const { message } = inWords(error)
    const advice = message.includes('tidemark restore')
      ? 'tidemark restore FOLDER --force, with the newest backup'
      : 'fix this, then run tidemark doctor again'
    findings.push(failure(`the store cannot be opened: ${message}`, advice))
  }
  return findings
}
