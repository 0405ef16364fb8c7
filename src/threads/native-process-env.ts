/**
 * The environment of a process that runs the native runtime of models and graphs (onnxruntime). It gets no settings of
 * the server: it needs none, and they hold keys. Telemetry of the runtime is switched off. By default version 1.30, on
 * Linux and macOS, looks up its maker's address a second after its start, sends what it runs with a number for this
 * machine, and keeps the number and unsent events in the user's cache folder.
 */
export function nativeProcessEnv(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_'))
  return { ...Object.fromEntries(others), ORT_DISABLE_TELEMETRY: '1' }
}
