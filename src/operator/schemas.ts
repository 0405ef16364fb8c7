import { Type } from 'typebox'
import { EntitlementInput } from '../access/entitlement.ts'
import { Policy } from '../access/policy.ts'
import { roles } from '../access/roles.ts'
import {
  choice,
  dateTime,
  exactPattern,
  exactWithin,
  named,
  orNull,
  personPattern,
  printablePattern,
  strict,
  surrogates,
} from '../platform/validation.ts'

/** Request and response bodies of the admin API, and the parts of a file for `tidemark apply`. */

/** Ids chosen by operators: readable in addresses and lists, and without the comma that separates values. */
const chosenId = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$',
    description: `${description} Letters, digits and . _ : -, at most 128 characters.`,
  })
export const DatasetId = chosenId('The ID of the dataset, as used by collectors and applications.')
/** Names appear in lists, logs and terminals, so they have no control characters. Longer texts may have line breaks. */
export const name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: printablePattern,
  description: 'A name for display. No control characters.',
})
const description = Type.Optional(orNull(Type.String({ maxLength: 4000, pattern: exactPattern })))

const RetainDays = Type.Integer({ minimum: 1, maximum: 36_500 })
export const DatasetInput = named(
  'DatasetRequest',
  Type.Object(
    {
      name,
      description,
      retain_days: Type.Optional(
        orNull(RetainDays, {
          description:
            'Documents are erased this many days after they were first ingested. Null keeps them forever; leave it out to keep the current value.',
        }),
      ),
    },
    strict,
  ),
)
export const DatasetAnswer = named(
  'Dataset',
  Type.Object({
    dataset_id: Type.String(),
    name: Type.String(),
    description: orNull(Type.String()),
    retain_days: orNull(Type.Integer(), { description: 'Null if documents are kept forever.' }),
    created_at: dateTime,
    updated_at: dateTime,
  }),
)

export const ClassificationCode = Type.String({
  pattern: `^[^,\\s\\x00-\\x1f\\x7f${surrogates}]{1,128}$`,
  description: 'The code, matched exactly. No commas, spaces or control characters, at most 128 characters.',
})
export const ClassificationInput = named(
  'ClassificationRequest',
  Type.Object(
    {
      name,
      description,
      label_schema: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'Any JSON object without NUL characters and unpaired surrogates. Returned as stored.',
          [exactWithin]: true,
        }),
      ),
      active: Type.Optional(
        Type.Boolean({ default: true, description: 'Inactive classifications are not listed for applications.' }),
      ),
    },
    strict,
  ),
)
export const ClassificationAnswer = named(
  'ManagedClassification',
  Type.Object({
    dataset_id: Type.String(),
    code: Type.String(),
    name: Type.String(),
    description: orNull(Type.String()),
    label_schema: Type.Record(Type.String(), Type.Unknown()),
    active: Type.Boolean(),
  }),
)

export const ProfileId = chosenId('The ID of the profile.')
export const ProfileInput = named(
  'EmbeddingProfileRequest',
  Type.Object(
    {
      provider: Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: printablePattern,
        description: 'What computes the vectors, such as `builtin` or `http`.',
      }),
      model: Type.String({ minLength: 1, maxLength: 200, pattern: printablePattern }),
      dimensions: orNull(Type.Integer({ minimum: 1, maximum: 65_536 }), {
        description: 'Null if not known yet.',
      }),
      status: choice(['active', 'inactive']),
    },
    strict,
  ),
)
export const ProfileAnswer = named(
  'EmbeddingProfile',
  Type.Object({
    id: Type.String(),
    provider: Type.String(),
    model: Type.String(),
    dimensions: orNull(Type.Integer()),
    status: choice(['active', 'inactive']),
    default: Type.Boolean({ description: 'Whether searches use this profile.' }),
  }),
)

const Entitlements = Type.Array(EntitlementInput, { maxItems: 1000 })
export const ApplicationInput = named(
  'ApplicationRequest',
  Type.Object({ name, policy: Type.Optional(Policy), entitlements: Type.Optional(Entitlements) }, strict),
)
export const ApplicationPatch = named(
  'ApplicationPatch',
  Type.Object(
    {
      name: Type.Optional(name),
      policy: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description:
            'A JSON merge patch of the policy: fields you send are changed, null removes a field, all others stay as they are.',
        }),
      ),
    },
    strict,
  ),
)
export const EntitlementsInput = named('EntitlementsRequest', Type.Object({ entitlements: Entitlements }, strict))
export const ApplicationAnswer = named(
  'Application',
  Type.Object({
    application_id: Type.String(),
    name: Type.String(),
    policy: Policy,
    entitlements: Type.Array(
      named('Entitlement', Type.Object({ entitlement_id: Type.String(), ...EntitlementInput.properties })),
    ),
    created_at: dateTime,
    updated_at: dateTime,
  }),
)

export const KeyInput = named(
  'KeyRequest',
  Type.Object(
    {
      name: Type.Optional(name),
      expires_at: Type.Optional(
        Type.String({ format: 'date-time', description: 'Must be in the future. Default: never.' }),
      ),
    },
    strict,
  ),
)
export const KeyCreated = named(
  'CreatedKey',
  Type.Object({
    key_id: Type.String(),
    api_key: Type.String({ description: 'Shown only once: only its hash is stored.' }),
    expires_at: orNull(dateTime),
  }),
)
export const KeyAnswer = named(
  'Key',
  Type.Object({
    key_id: Type.String(),
    application_id: orNull(Type.String()),
    collector_id: orNull(Type.String()),
    name: orNull(Type.String()),
    prefix: Type.String({ description: 'The first characters of the key, to recognise it by.' }),
    created_at: dateTime,
    expires_at: orNull(dateTime),
    revoked_at: orNull(dateTime),
    last_used_at: orNull(dateTime),
  }),
)
export const RotateInput = named(
  'RotateKeyRequest',
  Type.Object(
    {
      grace_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 31_536_000,
          default: 86_400,
          description: 'How long the old key keeps working.',
        }),
      ),
    },
    strict,
  ),
)
export const KeyRotated = named(
  'RotatedKey',
  Type.Object({
    ...KeyCreated.properties,
    replaces: Type.String(),
    old_key_expires_at: dateTime,
  }),
)

export const CollectorInput = named(
  'CollectorRequest',
  Type.Object(
    {
      name,
      datasets: Type.Optional(
        Type.Array(DatasetId, {
          minItems: 1,
          maxItems: 1000,
          uniqueItems: true,
          description: 'The datasets that the collector may write to. Default: all.',
        }),
      ),
    },
    strict,
  ),
)
export const CollectorCreated = named(
  'CreatedCollector',
  Type.Object({
    collector_id: Type.String(),
    collector_key: Type.String({ description: 'Shown only once: only its hash is stored.' }),
    key_id: Type.String(),
  }),
)
export const CollectorAnswer = named(
  'Collector',
  Type.Object({
    collector_id: Type.String(),
    name: Type.String(),
    datasets: orNull(Type.Array(Type.String())),
    created_at: dateTime,
  }),
)

const Role = choice(roles, {
  description:
    '`viewer` can read everything that operators can read; `operator` can also do the everyday work; `owner` can do everything, including managing admin tokens, deleting datasets and erasing documents in bulk.',
})
export const TokenInput = named(
  'AdminTokenRequest',
  Type.Object(
    {
      name: Type.String({
        minLength: 1,
        maxLength: 200,
        pattern: personPattern,
        description:
          'The name of the person or program, as shown in the audit log. Surrounding spaces are removed. No control characters or text direction marks. Must differ from the names of all valid tokens, ignoring case; otherwise 409 `conflict`.',
      }),
      role: Role,
      expires_at: KeyInput.properties.expires_at,
    },
    strict,
  ),
)
export const TokenCreated = named(
  'CreatedAdminToken',
  Type.Object({
    token_id: Type.String(),
    admin_token: Type.String({ description: 'Shown only once: only its hash is stored.' }),
    expires_at: orNull(dateTime),
  }),
)
export const TokenAnswer = named(
  'AdminToken',
  Type.Object({
    token_id: Type.String(),
    name: Type.String(),
    role: Role,
    prefix: Type.String({ description: 'The first characters of the token, to recognise it by.' }),
    created_at: dateTime,
    expires_at: orNull(dateTime),
    revoked_at: orNull(dateTime),
    last_used_at: orNull(dateTime),
  }),
)

export const SelfAnswer = named(
  'AdminSelf',
  Type.Object({
    token_id: orNull(Type.String(), {
      description:
        'Null for the token set with `TIDEMARK_ADMIN_TOKEN` or generated in the data folder, which is the owner of last resort.',
    }),
    name: orNull(Type.String()),
    role: Role,
  }),
)

export const UsageAnswer = named(
  'Usage',
  Type.Object({
    application_id: Type.String(),
    day: Type.String(),
    operation: Type.String(),
    used: Type.Integer(),
  }),
)

export const AuditAnswer = named(
  'AuditEntry',
  Type.Object({
    audit_id: Type.String(),
    at: dateTime,
    actor: Type.String({
      description:
        'Who made the change: the ID and name of an admin token (`tok_… "Ada"`), `admin-api` for the token set with `TIDEMARK_ADMIN_TOKEN` or generated in the data folder, `command-line`, `start`, `restore` or `retention`.',
    }),
    action: Type.String({ description: 'What was done, such as `dataset.put` or `admin_token.create`.' }),
    target: Type.String({ description: 'The ID of the resource that was changed.' }),
    detail: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What was written, without secrets. Its fields depend on the action.',
    }),
  }),
)

export const FindingAnswer = named(
  'Finding',
  Type.Object({
    state: choice(['ok', 'warning', 'failure']),
    about: Type.String({ description: 'What was checked, and the result.' }),
    advice: orNull(Type.String({ description: 'What to do about it.' })),
  }),
)

export const DeleteQuery = Type.Object(
  { force: Type.Optional(Type.Boolean({ default: false, description: 'Delete it even if it is in use.' })) },
  strict,
)
