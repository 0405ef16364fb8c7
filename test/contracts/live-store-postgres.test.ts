import { checkLiveStore } from './live-store.ts'
import type { LiveFixture } from './live-store-model.ts'
import { openPostgres } from './postgres-fixture.ts'

async function open(): Promise<LiveFixture> {
  const fixture = ({
    live,
    content,
    operator,
    reopen,
    close,
  }: Awaited<ReturnType<typeof openPostgres>>): LiveFixture => ({
    isolated: true,
    live,
    content,
    operator,
    reopen: async () => fixture(await reopen()),
    close,
  })
  return fixture(await openPostgres())
}

checkLiveStore('postgres', open, 20)
