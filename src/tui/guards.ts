// What the environment asks of the console before it draws anything. Pure.

export type Env = Readonly<Record<string, string | undefined>>

/** One line on why there can be no console here; undefined where there can. */
export function refusal(env: Env, tty: { stdin: boolean; stdout: boolean }): string | undefined {
  if (!tty.stdin || !tty.stdout) {
    const missing = tty.stdin ? 'stdout' : 'stdin'
    return `the console needs a terminal, and ${missing} is none; use \`ssh -t\`, or \`ogw status\` in scripts`
  }
  if (env['TERM'] === 'dumb') {
    return 'the console cannot draw on a dumb terminal (TERM=dumb); use `ogw status`'
  }
  return undefined
}

/** Why letters are used in place of signs; undefined where signs are. */
export function asciiReason(env: Env, platform: NodeJS.Platform): string | undefined {
  if ((env['OGW_ASCII'] ?? '') !== '' && env['OGW_ASCII'] !== '0') return 'OGW_ASCII is set'
  if (env['TERM'] === 'linux') return 'the Linux console has few signs'
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((one) => (one ?? '') !== '')
  // Windows and macOS are UTF-8 without saying so.
  if (locale === undefined && platform !== 'linux') return undefined
  if (/utf-?8/i.test(locale ?? '')) return undefined
  return `the locale (${locale ?? 'none'}) is not UTF-8`
}

/** NO_COLOR and FORCE_COLOR=0 switch colours off, as does the option; attributes stay. */
export function wantsColor(env: Env, option: boolean): boolean {
  return option && (env['NO_COLOR'] ?? '') === '' && env['FORCE_COLOR'] !== '0'
}

export function wantsScreenReader(env: Env, option: boolean): boolean {
  return option || env['INK_SCREEN_READER'] === 'true'
}
