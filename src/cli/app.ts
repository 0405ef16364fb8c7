import type { Command } from 'commander'
import { applicationAnswer } from '../operator/answers.ts'
import { ApplicationInput } from '../operator/schemas.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { alignedTable, commandLineActor, withWorkbench } from './with-workbench.ts'

export function app(program: Command, context: Context): void {
  const command = program.command('app').description('applications: list, show, create')
  command
    .command('list')
    .description('every application')
    .action(() =>
      withWorkbench(context, async ({ operator }) => {
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
    .argument('<application>', 'its id')
    .action((id: string) =>
      withWorkbench(context, async ({ operator }) =>
        context.say(JSON.stringify(applicationAnswer(await operator.application(id)), null, 2)),
      ),
    )
  command
    .command('create')
    .description(
      'make an application, its first key included; use `tidemark apply` for finer entitlements and policies',
    )
    .argument('<name>')
    .option('--dataset <id...>', 'datasets it may read, all platforms and fields', [])
    .action((name: string, options: { dataset: string[] }) =>
      withWorkbench(context, async ({ operator }) => {
        const entitlements = options.dataset.length === 0 ? [] : [{ datasets: options.dataset }]
        checkInput(ApplicationInput, { name, entitlements })
        const { applicationId } = await operator.createApplication(commandLineActor, { name, policy: {}, entitlements })
        const key = await operator.createKey(commandLineActor, applicationId, { name: 'first', expiresAt: null })
        context.say(`application ${applicationId}\nkey ${key.keyId}, shown this once: ${key.secret}`)
      }),
    )
}
