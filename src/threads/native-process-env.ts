/**
 * The environment of a process that runs the native runtime of models and graphs (onnxruntime). Nothing of the server's settings
 * is handed on: it needs none, and they hold keys. And it must tell nobody of itself: left alone it looks its maker's address
 * up a second after its start, sends there what it runs with a number that it gives this machine, and keeps number and
 * unsent events in the user's cache folder (1.30, on Linux and macOS).
 */
export function nativeProcessEnv(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_'))
  return { ...Object.fromEntries(others), ORT_DISABLE_TELEMETRY: '1' }
}
