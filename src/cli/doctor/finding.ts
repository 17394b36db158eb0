// One line of `ogw doctor`.

export interface Finding {
  check: string
  level: 'ok' | 'warn' | 'fail'
  message: string
  /** What to do; null where nothing is to be done. */
  action: string | null
}

export const ok = (check: string, message: string): Finding => ({
  check,
  level: 'ok',
  message,
  action: null,
})

export const warn = (check: string, message: string, action: string): Finding => ({
  check,
  level: 'warn',
  message,
  action,
})

export const fail = (check: string, message: string, action: string): Finding => ({
  check,
  level: 'fail',
  message,
  action,
})
