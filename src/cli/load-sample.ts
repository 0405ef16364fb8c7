import type { Instance } from '../compose.ts'
import { planFile } from './apply.ts'

const sample = new URL('../../sample/', import.meta.url)
const actor = 'start'
const keyDays = 30

/** Loads the sample once, and makes a key for this start: only hashes are kept, so an earlier key cannot be shown again. */
export async function loadSample(instance: Pick<Instance, 'operator'>): Promise<{ key: string }> {
  const plan = await planFile(new URL('instance.yaml', sample), instance)
  await instance.operator.commit(actor, plan.changes)
  const application = (await instance.operator.read.applications()).find((one) => one.name === 'Sample reader')
  const expiresAt = Date.now() + keyDays * 86_400_000
  const made = await instance.operator.createKey(actor, application!.applicationId, { name: 'npm start', expiresAt })
  return { key: made.secret }
}
