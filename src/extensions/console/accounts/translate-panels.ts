import type {
  PanelColumn,
  PanelContent,
  PanelRow,
  PanelValue,
  PanelValueKind,
  Translation,
} from '../../../extension/index.ts';

type Translate = Translation['text'];

/** The page shows words, which are in its language then, as other texts. */
export const shownKind = (kind: PanelValueKind) => (kind === 'word' ? 'text' : kind);

export const translateValue = (value: PanelValue, kind: PanelValueKind | undefined, text: Translate): PanelValue =>
  kind === 'word' && typeof value === 'string' ? text(value) : value;

export function translateColumns(columns: readonly PanelColumn[], text: Translate): PanelColumn[] {
  return columns.map(({ label, kind, ...column }) => ({
    ...column,
    label: text(label),
    ...(kind !== undefined && { kind: shownKind(kind) }),
  }));
}

/** Returns rows with the words of their columns in another language. Other values are data. */
export function translateRows(
  rows: readonly PanelRow[],
  columns: readonly PanelColumn[],
  { members }: Translation,
): readonly PanelRow[] {
  const words = columns.filter(({ kind }) => kind === 'word').map(({ name }) => name);
  if (words.length === 0) return rows;
  return rows.map((row) => ({ ...row, values: members(row.values, words) }));
}

/** Returns the content of a panel with its labels and words in another language. */
export function translateContent(
  content: PanelContent,
  columns: readonly PanelColumn[],
  translation: Translation,
): PanelContent {
  const { text } = translation;
  const { facts, rows, link } = content;
  return {
    ...content,
    ...(facts && {
      facts: facts.map(({ label, value, kind, ...fact }) => ({
        ...fact,
        label: text(label),
        value: translateValue(value, kind, text),
        ...(kind !== undefined && { kind: shownKind(kind) }),
      })),
    }),
    ...(rows && { rows: translateRows(rows, columns, translation) }),
    ...(link && { link: { ...link, label: text(link.label) } }),
  };
}
