import { checkCatalogStore } from './catalog-store.ts'
import { openPostgres } from './postgres-fixture.ts'

checkCatalogStore('postgres', openPostgres, 300)
