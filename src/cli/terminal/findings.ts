import type { Finding } from '../../platform/observability/finding.ts';
import { stripControlCharacters } from './terminal.ts';

const MARKS: Record<Finding['level'], string> = { ok: 'ok      ', warning: 'warning ', error: 'error   ' };

function toSentence(text: string): string {
  return `${stripControlCharacters(text).replace(/[.:]$/, '')}.`;
}

function findingLines({ level, message, fix }: Finding): string[] {
  const lines = [`${MARKS[level]} ${toSentence(message)}`];
  return fix === undefined ? lines : [...lines, `         Fix: ${toSentence(fix)}`];
}

/** Formats findings, each with what to do about it, and their number. */
export function formatFindings(findings: readonly Finding[]): string[] {
  const count = (level: Finding['level']) => findings.filter((one) => one.level === level).length;
  return [...findings.flatMap(findingLines), '', `Errors: ${count('error')}. Warnings: ${count('warning')}.`];
}
