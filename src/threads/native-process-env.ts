/**
 * The environment of a process that runs onnxruntime. It has no settings of the server, which the process does not need
 * and which contain keys. Telemetry of the runtime is switched off: by default version 1.30, on Linux and macOS, sends
 * what it runs with a machine ID to its maker, and keeps the ID and unsent events in the user's cache folder.
 */
export function nativeProcessEnv(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_'))
  return { ...Object.fromEntries(others), ORT_DISABLE_TELEMETRY: '1' }
}
