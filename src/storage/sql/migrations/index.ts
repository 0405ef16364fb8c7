import { access } from './0001-access.ts'
import { content } from './0002-content.ts'
import { indexing } from './0003-indexing.ts'
import { analysis } from './0004-analysis.ts'
import { live } from './0005-live.ts'
import { sharing } from './0006-sharing.ts'
import { vectors } from './0007-vectors.ts'
import { artifactNames } from './0008-artifact-names.ts'
import { keyOwners } from './0009-key-owners.ts'
import { vectorProfiles } from './0010-vector-profiles.ts'
import { namedEvents } from './0011-named-events.ts'
import { subscriptionRuns } from './0012-subscription-runs.ts'
import { erasure } from './0013-erasure.ts'
import { erasureArrivals } from './0014-erasure-arrivals.ts'
import { erasureProgress } from './0015-erasure-progress.ts'
import { eventReaders } from './0016-event-readers.ts'
import { history } from './0017-history.ts'
import { auditActions } from './0018-audit-actions.ts'
import { thumbnails } from './0019-thumbnails.ts'
import type { Migration } from './migration.ts'

export const migrations: readonly Migration[] = [
  access,
  content,
  indexing,
  analysis,
  live,
  sharing,
  vectors,
  artifactNames,
  keyOwners,
  vectorProfiles,
  namedEvents,
  subscriptionRuns,
  erasure,
  erasureArrivals,
  erasureProgress,
  eventReaders,
  history,
  auditActions,
  thumbnails,
]
