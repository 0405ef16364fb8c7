import { type Command, InvalidArgumentError } from 'commander'
import type { Usage } from '../operator/operator-store.ts'
import { dayMs, utcDay } from '../platform/time.ts'
import type { Context } from './context.ts'
import { findApplication } from './find-owner.ts'
import { alignedTable, withInstance } from './with-workbench.ts'

const daysDefault = 7
const daysMax = 3660

export function usage(program: Command, context: Context): void {
  program
    .command('usage')
    .description('Show requests per application and day (UTC), by operation.')
    .option('--days <number>', 'number of days, including today', daysOf, daysDefault)
    .option('--application <application>', 'only this application, by ID or name')
    .action(({ days, application }: { days: number; application?: string }) =>
      withInstance(context, async ({ operator }) => {
        const now = Date.now()
        const applicationId =
          application === undefined ? null : (await findApplication(operator.read, application)).applicationId
        const [fromDay, toDay] = [utcDay(now - (days - 1) * dayMs), utcDay(now)]
        const used = await operator.read.usage({ fromDay, toDay, applicationId })
        const names = new Map((await operator.read.applications()).map((one) => [one.applicationId, one.name]))
        const rows = [...Map.groupBy(used, (one) => `${one.day} ${one.applicationId}`).values()].map((same) => ({
          day: same[0]!.day,
          application: same[0]!.applicationId,
          name: names.get(same[0]!.applicationId) ?? '(deleted)',
          requests: String(same.reduce((sum, one) => sum + one.used, 0)),
          operations: inWords(same),
        }))
        context.say(alignedTable(rows, `no requests from ${fromDay} to ${toDay}`))
      }),
    )
}

const inWords = (same: readonly Usage[]): string =>
  same
    .toSorted((a, b) => b.used - a.used)
    .map(({ operation, used }) => `${operation} ${used}`)
    .join(', ')

function daysOf(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > daysMax) throw new InvalidArgumentError(`It must be a whole number from 1 to ${daysMax}.`)
  return days
}
