// A dialog with fields, as values: what stands in it, and what a key makes of it. Pure.

import { type EditedLine, editLine, insertInto } from './line-edit.ts'
import { graphemesOf } from './present/text.ts'
import type { Line } from './theme.ts'

interface FieldHead {
  id: string
  label: string
  /** Said below the fields while this one has the focus. */
  hint: string
}

export interface TextField extends FieldHead, EditedLine {
  kind: 'text'
}

/** A number, or a box that is ticked for no limit. What was typed stays below the tick. */
export interface LimitField extends FieldHead, EditedLine {
  kind: 'limit'
  unlimited: boolean
  /** Said behind the number. */
  unit: string
}

interface ChoiceField extends FieldHead {
  kind: 'choice'
  options: readonly string[]
  at: number
}

export type FormField = TextField | LimitField | ChoiceField

export interface FormOverlay {
  kind: 'form'
  title: string
  /** Said above the fields. */
  lines: readonly Line[]
  fields: readonly FormField[]
  /** Place of a field; behind them Cancel, then the other button. */
  focus: number
  /** What the other button says. */
  yes: string
  /** Why it was not done; empty where there is nothing to say. */
  problem: string
  /** It was sent and not answered yet. */
  busy: boolean
  /** Keys that were typed before anybody could read it must not press its button. */
  openedMono: number
  onSubmit(form: FormOverlay): void
}

export const cancelAt = ({ fields }: FormOverlay): number => fields.length
export const submitAt = ({ fields }: FormOverlay): number => fields.length + 1

/** The focus goes round. */
export function moveFocus(form: FormOverlay, step: number): FormOverlay {
  const stops = form.fields.length + 2
  return { ...form, focus: (form.focus + step + stops) % stops }
}

/** The form after a key in the field that has the focus; undefined where it means nothing there. */
export function pressField(form: FormOverlay, key: string): FormOverlay | undefined {
  const field = form.fields[form.focus]
  const next = field === undefined ? undefined : fieldAfter(field, key)
  return next === undefined ? undefined : withField(form, next)
}

export function pasteField(form: FormOverlay, text: string): FormOverlay | undefined {
  const field = form.fields[form.focus]
  if (field === undefined || field.kind === 'choice') return undefined
  const next = { ...field, ...insertInto(field, text) }
  return withField(form, next.kind === 'limit' ? { ...next, unlimited: false } : next)
}

function withField(form: FormOverlay, field: FormField): FormOverlay {
  const fields = form.fields.map((one) => (one.id === field.id ? field : one))
  return { ...form, fields, problem: '' }
}

function fieldAfter(field: FormField, key: string): FormField | undefined {
  switch (field.kind) {
    case 'text': {
      const line = editLine(field, key)
      return line === undefined ? undefined : { ...field, ...line }
    }
    case 'limit':
      return limitAfter(field, key)
    case 'choice': {
      const step = { space: 1, right: 1, l: 1, left: -1, h: -1 }[key]
      if (step === undefined) return undefined
      const count = field.options.length
      return { ...field, at: (field.at + step + count) % count }
    }
  }
}

const NUMBER_KEY = /^[\d.,_kmgKMG]$/

/** Space ticks and unticks; a number that is typed where it is ticked unticks it. */
function limitAfter(field: LimitField, key: string): LimitField | undefined {
  if (key === 'space') return { ...field, unlimited: !field.unlimited }
  if (key.length === 1 && !NUMBER_KEY.test(key)) return undefined
  const typed = NUMBER_KEY.test(key)
  if (field.unlimited && !typed) return undefined
  const line = editLine(field.unlimited ? { text: '', caret: 0 } : field, key)
  return line === undefined ? undefined : { ...field, ...line, unlimited: false }
}

export function textField(
  [id, label]: readonly [id: string, label: string],
  text: string,
  hint: string,
): TextField {
  return { kind: 'text', id, label, text, caret: [...graphemesOf(text)].length, hint }
}

/** 0 is no limit. */
export function limitField(
  [id, label]: readonly [id: string, label: string],
  value: number,
  { unit, hint }: { unit: string; hint: string },
): LimitField {
  const text = value === 0 ? '' : String(value)
  return { kind: 'limit', id, label, unlimited: value === 0, text, caret: text.length, unit, hint }
}

/** What was typed into a field, without the blanks around it; of a choice what was chosen. */
export function textOf({ fields }: FormOverlay, id: string): string {
  const field = fields.find((one) => one.id === id)
  if (field === undefined) return ''
  return field.kind === 'choice' ? (field.options[field.at] ?? '') : field.text.trim()
}

/** 0 where the box is ticked; undefined where what was typed is no number above 0. */
export function limitOf({ fields }: FormOverlay, id: string): number | undefined {
  const field = fields.find((one) => one.id === id)
  if (field?.kind !== 'limit') return undefined
  if (field.unlimited) return 0
  const value = parseAmount(field.text)
  return value === 0 ? undefined : value
}

const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 }
const MOST = 1e15

/** `500`, `500_000`, `500k`, `1.5M`, `2G`; undefined where it is no whole number of anything. */
export function parseAmount(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)([kmg]?)$/i.exec(text.trim().replaceAll(/[_,]/g, ''))
  if (parts === null) return undefined
  const [, digits = '', unit = ''] = parts
  const value = Math.round(Number(digits) * (FACTORS[unit.toLowerCase()] ?? 1) * 1e3) / 1e3
  return Number.isInteger(value) && value <= MOST ? value : undefined
}
