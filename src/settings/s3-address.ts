/** A location in a bucket: `s3://bucket/prefix?endpoint=…&region=…&path_style=true`. It never contains credentials. */
export interface S3Address {
  readonly bucket: string
  /** Without a slash at either end; empty for the whole bucket. */
  readonly prefix: string
  /** The server; null for Amazon's. */
  readonly endpoint: string | null
  /** Null if the environment or the profile sets it. */
  readonly region: string | null
  /** Whether the bucket is in the path and not in the host name. */
  readonly pathStyle: boolean
  /** The endpoint to which readers are redirected for whole files. Null means no redirect. */
  readonly redirect: string | null
}

/** The valid form, as the end of the sentence "… but it must be". */
export const s3AddressExpected =
  's3://bucket/prefix, with ?endpoint=https://host:port, region, path_style=true|false where needed, and no credentials'

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const prefixForm = /^[\w.!=+-]+(\/[\w.!=+-]+)*$/
const parameters = ['endpoint', 'region', 'path_style', 'redirect']

/** Returns null for an invalid address. */
export function parseS3Address(text: string): S3Address | null {
  const url = text.length <= 1024 && text.startsWith('s3://') ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || url.port !== '' || url.hash !== '') return null
  const prefix = url.pathname.replace(/^\/|\/$/g, '')
  if (!bucketName.test(url.hostname) || (prefix !== '' && !prefixForm.test(prefix))) return null
  if (prefix.split('/').some((part) => part === '.' || part === '..')) return null
  const names = [...url.searchParams.keys()]
  if (new Set(names).size < names.length || !names.every((name) => parameters.includes(name))) return null
  const endpoint = url.searchParams.get('endpoint')
  const region = url.searchParams.get('region')
  const pathStyle = url.searchParams.get('path_style')
  const redirect = url.searchParams.get('redirect')
  if (endpoint !== null && !isEndpoint(endpoint)) return null
  if (region !== null && !/^[a-z0-9-]{1,64}$/.test(region)) return null
  if (pathStyle !== null && pathStyle !== 'true' && pathStyle !== 'false') return null
  if (redirect !== null && redirect !== 'true' && redirect !== 'false' && !isEndpoint(redirect)) return null
  return {
    bucket: url.hostname,
    prefix,
    endpoint,
    region,
    // Self-hosted servers seldom have a host name for each bucket.
    pathStyle: pathStyle === null ? endpoint !== null : pathStyle === 'true',
    redirect: redirect === 'true' ? (endpoint ?? '') : redirect === 'false' ? null : redirect,
  }
}

function isEndpoint(text: string): boolean {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  return url !== null && url.username === '' && url.password === '' && url.pathname === '/' && url.search === ''
}
