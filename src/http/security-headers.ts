/**
 * Pages load only their own files, so the policy forbids everything else. `script` is the hash of an inline script that
 * may also run.
 */
export const contentPolicy = (script = ''): string =>
  `default-src 'none'; script-src 'self'${script && ` ${script}`}; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Sent with every answer. */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': contentPolicy(),
} as const
