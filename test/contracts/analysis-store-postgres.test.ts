import { suite } from 'node:test'
import { analysisInputContract } from './analysis-input.ts'
import { analysisStoreContract } from './analysis-store.ts'
import { subscriptionContract } from './analysis-subscriptions.ts'
import { openPostgres } from './postgres-fixture.ts'

suite('the store of analysis runs: postgres', () => {
  analysisStoreContract(async () => (await openPostgres()).analysis, 15)
})
analysisInputContract('postgres', openPostgres)
subscriptionContract('postgres', openPostgres, { numRuns: 5, isConcurrent: true })
