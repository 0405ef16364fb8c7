import type { Static } from 'typebox'
import type { CredentialKind } from '../access/credential-kinds.ts'
import type { Role } from '../access/roles.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import type { Application, Classification, Collector, Dataset, EmbeddingProfile, Key } from './operator-store.ts'
import type {
  ApplicationAnswer,
  ClassificationAnswer,
  CollectorAnswer,
  DatasetAnswer,
  KeyAnswer,
  ProfileAnswer,
  TokenAnswer,
} from './schemas.ts'

/** Turns records of the store into responses of the admin API. */
export const datasetAnswer = (dataset: Dataset): Static<typeof DatasetAnswer> => ({
  dataset_id: dataset.datasetId,
  name: dataset.name,
  description: dataset.description,
  retain_days: dataset.retainDays,
  created_at: formatTime(dataset.createdAt),
  updated_at: formatTime(dataset.updatedAt),
})

export const classificationAnswer = (one: Classification): Static<typeof ClassificationAnswer> => ({
  dataset_id: one.datasetId,
  code: one.code,
  name: one.name,
  description: one.description,
  label_schema: one.labelSchema,
  active: one.active,
})

export const profileAnswer = (profile: EmbeddingProfile): Static<typeof ProfileAnswer> => ({
  id: profile.profileId,
  provider: profile.provider,
  model: profile.model,
  dimensions: profile.dimensions,
  status: profile.status,
  default: profile.isDefault,
})

export const applicationAnswer = (application: Application): Static<typeof ApplicationAnswer> => ({
  application_id: application.applicationId,
  name: application.name,
  policy: application.policy,
  entitlements: [...application.entitlements],
  created_at: formatTime(application.createdAt),
  updated_at: formatTime(application.updatedAt),
})

const ownedBy = (kind: CredentialKind, { owner }: Key): string | null => (owner.kind === kind ? owner.id : null)

export const keyAnswer = (key: Key): Static<typeof KeyAnswer> => ({
  key_id: key.keyId,
  application_id: ownedBy('consumer', key),
  collector_id: ownedBy('collector', key),
  name: key.name,
  prefix: key.prefix,
  created_at: formatTime(key.createdAt),
  expires_at: formatOptionalTime(key.expiresAt),
  revoked_at: formatOptionalTime(key.revokedAt),
  last_used_at: formatOptionalTime(key.lastUsedAt),
})

export const tokenAnswer = (token: Key): Static<typeof TokenAnswer> => ({
  token_id: token.keyId,
  name: token.name ?? '',
  role: roleOf(token),
  prefix: token.prefix,
  created_at: formatTime(token.createdAt),
  expires_at: formatOptionalTime(token.expiresAt),
  revoked_at: formatOptionalTime(token.revokedAt),
  last_used_at: formatOptionalTime(token.lastUsedAt),
})

export const roleOf = ({ rights }: Key): Role => (rights as { role: Role }).role

export const collectorAnswer = (collector: Collector): Static<typeof CollectorAnswer> => ({
  collector_id: collector.collectorId,
  name: collector.name,
  datasets: collector.datasets === null ? null : [...collector.datasets],
  created_at: formatTime(collector.createdAt),
})
