import type { Command } from 'commander'
import { type AnalysisType, analysisTypes } from '../access/analysis-types.ts'
import type { Policy } from '../access/policy.ts'
import { applicationAnswer } from '../operator/answers.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { deleteOrAdvise } from './delete-or-advise.ts'
import { findApplication, warningsAbout } from './find-owner.ts'
import { alignedTable, commandLineActor, withInstance, withWorkbench } from './with-workbench.ts'

export function app(program: Command, context: Context): void {
  const command = program.command('app').description('List, show, create and delete applications.')
  command
    .command('list')
    .description('List all applications.')
    .action(() =>
      withInstance(context, async ({ operator }) => {
        const rows = (await operator.read.applications()).map((one) => ({
          application: one.applicationId,
          name: one.name,
          entitlements: String(one.entitlements.length),
          analysis: one.policy.analysis_enabled === true ? 'yes' : 'no',
        }))
        context.say(alignedTable(rows, 'no applications yet: tidemark app create NAME --dataset ID'))
      }),
    )
  command
    .command('show')
    .description('Show an application with its policy and entitlements, as JSON.')
    .argument('<application>', 'its ID or name')
    .action((idOrName: string) =>
      withInstance(context, async ({ operator }) =>
        context.say(JSON.stringify(applicationAnswer(await findApplication(operator.read, idOrName)), null, 2)),
      ),
    )
  command
    .command('create')
    .description('Create an application with a first key. For other entitlements and policies use `tidemark apply`.')
    .argument('<name>')
    .option('--dataset <id...>', 'datasets it may read, with all platforms and fields', [])
    .option('--analysis <type...>', `types of analysis it may run: ${analysisTypes.join(', ')}`)
    .option('--scheduling', 'let its analysis subscriptions start runs')
    .action((name: string, options: { dataset: string[]; analysis?: AnalysisType[]; scheduling?: true }) =>
      withWorkbench(context, async ({ operator }) => {
        const entitlements = options.dataset.length === 0 ? [] : [{ datasets: options.dataset }]
        const { analysis: types, scheduling } = options
        const analysis = { ...(types && { types }), ...(scheduling && { scheduling }) }
        const policy: Policy = types || scheduling ? { analysis_enabled: true, analysis } : {}
        checkInput('ApplicationInput', { name, policy, entitlements })
        const others = await operator.read.applications()
        for (const warning of await warningsAbout(operator.read, { name, datasets: options.dataset, others })) {
          context.warn(warning)
        }
        if (entitlements.length === 0)
          context.warn('note: it cannot read anything yet; use --dataset or tidemark apply')
        const { applicationId } = await operator.createApplication(commandLineActor, { name, policy, entitlements })
        const key = await operator.createKey(commandLineActor, applicationId, { name: 'first', expiresAt: null })
        context.say(`application ${applicationId}\nkey ${key.keyId}, shown only once: ${key.secret}`)
      }),
    )
  command
    .command('delete')
    .description('Delete an application with its keys. Its entries in the audit log stay.')
    .argument('<application>', 'its ID or name')
    .option('--force', 'even if it has valid keys, unfinished runs (they are cancelled) or subscriptions')
    .action((idOrName: string, options: { force?: boolean }) =>
      withInstance(context, async ({ operator }) => {
        const { applicationId } = await findApplication(operator.read, idOrName)
        await deleteOrAdvise(() => operator.deleteApplication(commandLineActor, applicationId, options.force === true))
        context.say(`deleted ${applicationId}`)
      }),
    )
}
