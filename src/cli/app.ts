import type { Command } from 'commander'
import { type AnalysisType, analysisTypes } from '../access/analysis-types.ts'
import type { Policy } from '../access/policy.ts'
import { applicationAnswer } from '../operator/answers.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { deleteOrAdvise } from './delete-or-advise.ts'
import { doubtsAbout, findApplication } from './find-owner.ts'
import { alignedTable, commandLineActor, withInstance, withWorkbench } from './with-workbench.ts'

export function app(program: Command, context: Context): void {
  const command = program.command('app').description('applications: list, show, create, delete')
  command
    .command('list')
    .description('every application')
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
    .description('one application with its policy and entitlements, as JSON')
    .argument('<application>', 'its id or name')
    .action((idOrName: string) =>
      withInstance(context, async ({ operator }) =>
        context.say(JSON.stringify(applicationAnswer(await findApplication(operator.read, idOrName)), null, 2)),
      ),
    )
  command
    .command('create')
    .description(
      'make an application, its first key included; use `tidemark apply` for finer entitlements and policies',
    )
    .argument('<name>')
    .option('--dataset <id...>', 'datasets it may read, all platforms and fields', [])
    .option('--analysis <type...>', `types of analysis it may run, of ${analysisTypes.join(', ')}`)
    .option('--scheduling', 'its analysis subscriptions start runs by themselves')
    .action((name: string, options: { dataset: string[]; analysis?: AnalysisType[]; scheduling?: true }) =>
      withWorkbench(context, async ({ operator }) => {
        const entitlements = options.dataset.length === 0 ? [] : [{ datasets: options.dataset }]
        const { analysis: types, scheduling } = options
        const analysis = { ...(types && { types }), ...(scheduling && { scheduling }) }
        const policy: Policy = types || scheduling ? { analysis_enabled: true, analysis } : {}
        await checkInput('ApplicationInput', { name, policy, entitlements })
        const others = await operator.read.applications()
        for (const doubt of await doubtsAbout(operator.read, { name, datasets: options.dataset, others })) {
          context.warn(doubt)
        }
        if (entitlements.length === 0)
          context.warn('note: it can read nothing yet: --dataset, or tidemark apply, says what')
        const { applicationId } = await operator.createApplication(commandLineActor, { name, policy, entitlements })
        const key = await operator.createKey(commandLineActor, applicationId, { name: 'first', expiresAt: null })
        context.say(`application ${applicationId}\nkey ${key.keyId}, shown only once: ${key.secret}`)
      }),
    )
  command
    .command('delete')
    .description('remove an application with its keys; the audit log keeps its lines')
    .argument('<application>', 'its id or name')
    .option('--force', 'even while it has keys that work, unfinished runs (which are cancelled) or subscriptions')
    .action((idOrName: string, options: { force?: boolean }) =>
      withInstance(context, async ({ operator }) => {
        const { applicationId } = await findApplication(operator.read, idOrName)
        await deleteOrAdvise(() => operator.deleteApplication(commandLineActor, applicationId, options.force === true))
        context.say(`deleted ${applicationId}`)
      }),
    )
}
