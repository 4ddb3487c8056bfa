import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { texts } from '../../../texts.ts';
import type { ResourceInfo } from '../../app-info.ts';
import { detailedMessage } from '../../editors/values.ts';
import { fieldLabel } from '../../schema.ts';
import { type Mapping, mapColumns, mappingProblem, targetsOf } from './mapping.ts';
import { type ImportResult, ImportStopped, importCsv, importNdjson } from './run.ts';
import { type ReadChoice, readSource, type Source } from './source.ts';

/** The choice that gives all records new ids. Not the name of a field. */
export const NEW_IDS = '*';
/** The choice that keeps ids and times. */
export const SAME_IDS = '';

/** A result, and the file that it is about; undefined for NDJSON. */
export interface Outcome extends ImportResult {
  source: Source | undefined;
  /** Why the import ended early. */
  stopped?: string;
}

const isNdjson = ({ name }: File) => /\.(?:ndjson|jsonl|json)$/i.test(name);

/** The unique field by which a choice finds existing records. */
const upsertFieldOf = (existing: string) => (existing === NEW_IDS || existing === SAME_IDS ? undefined : existing);

/** The parameters of an import for a choice: how rows relate to existing records. */
function existingRecords(existing: string): Record<string, string> {
  if (existing === NEW_IDS) return {};
  return existing === SAME_IDS ? { keepIds: 'true' } : { upsertBy: existing };
}

/** Columns may name a new user, but change the address of no other one. */
function targetsFor(resource: ResourceInfo, existing: string): string[] {
  const upsertBy = upsertFieldOf(existing);
  return targetsOf(resource, upsertBy === undefined || upsertBy === 'email', existing === SAME_IDS);
}

/** The file of an import, how it is read, and what its columns set. A file that was replaced meanwhile is forgotten. */
function useSource(resource: ResourceInfo, existing: string) {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [source, setSource] = useState<Source | undefined>(undefined);
  /** The choices of the user, by the position of the column; other columns are found by their names. */
  const [chosen, setChosen] = useState<Readonly<Record<number, string>>>({});
  /** How a file was read that has no columns that way. */
  const [refusedChoice, setRefusedChoice] = useState<ReadChoice | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isReading, setReading] = useState(false);
  const reading = useRef(new AbortController());
  useEffect(() => () => reading.current.abort(), []);
  const read = async (next: File | undefined, choice: ReadChoice = {}) => {
    reading.current.abort();
    reading.current = new AbortController();
    const { signal } = reading.current;
    setFile(next);
    setError(undefined);
    setRefusedChoice(undefined);
    if (next === undefined || isNdjson(next)) {
      setSource(undefined);
      setReading(false);
      return;
    }
    setReading(true);
    try {
      const found = await readSource(next, choice, signal, texts.imports);
      if (signal.aborted) return;
      setSource(found);
      // Another encoding changes letters, not columns.
      if (next !== file || found.header.length !== source?.header.length) setChosen({});
    } catch (failure) {
      if (signal.aborted) return;
      setSource(undefined);
      setRefusedChoice(choice);
      setError(detailedMessage(failure));
    }
    setReading(false);
  };
  const mapping = useMemo(() => {
    const targets = targetsFor(resource, existing);
    const found = mapColumns(source?.header ?? [], targets, (name) => fieldLabel(resource, name));
    return found.map((name, i) => [chosen[i]].find((one) => one === '' || targets.includes(one ?? '')) ?? name);
  }, [resource, source, existing, chosen]);
  const chooseField = (column: number, name: string) => setChosen({ ...chosen, [column]: name });
  return { file, source, refusedChoice, mapping, error, isReading, read, chooseField };
}

/** What is sent, and how. */
interface Sent {
  file: File | undefined;
  source: Source | undefined;
  mapping: Mapping;
  existing: string;
}

/** Sends the rows of a file. `onDone` gets the result once they are written. */
function useSending(
  resource: ResourceInfo,
  { file, source, mapping, existing }: Sent,
  onDone: (outcome: Outcome) => void,
) {
  const [checked, setChecked] = useState<Outcome | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  /** The number of rows that were handled; undefined while nothing is sent. */
  const [done, setDone] = useState<number | undefined>(undefined);
  const sending = useRef(new AbortController());
  useEffect(() => () => sending.current.abort(), []);
  const run = async (mode: 'check' | 'write') => {
    if (file === undefined) return;
    sending.current = new AbortController();
    const { signal } = sending.current;
    const options = { mode, existing: existingRecords(existing), signal };
    setError(undefined);
    setDone(0);
    try {
      const result = await (source === undefined
        ? importNdjson(resource, file, options)
        : importCsv(resource, source, mapping, options, setDone));
      if (mode === 'check') setChecked({ ...result, source });
      else onDone({ ...result, source });
    } catch (failure) {
      if (mode === 'write' && failure instanceof ImportStopped)
        onDone({ ...failure.result, source, stopped: failure.message });
      else setError(detailedMessage(failure));
    }
    setDone(undefined);
  };
  return {
    checked,
    error,
    done,
    run,
    stop: () => sending.current.abort(),
    /** Forgets a check. */
    forget: () => {
      setChecked(undefined);
      setError(undefined);
    },
  };
}

/** The state of an import. `onDone` gets the result once the rows are written. */
export function useImport(resource: ResourceInfo, onDone: (outcome: Outcome) => void) {
  const [existing, setExisting] = useState(NEW_IDS);
  const input = useSource(resource, existing);
  const { file, source, mapping, error: readError, isReading, read, chooseField } = input;
  const sent = { file, source, mapping, existing };
  const { checked, error, done, run, stop, forget } = useSending(resource, sent, onDone);
  const targets = targetsFor(resource, existing);
  /** A check is about the former choices. */
  const change =
    <Choice extends unknown[]>(apply: (...choice: Choice) => unknown) =>
    (...choice: Choice) => {
      forget();
      apply(...choice);
    };
  return {
    file,
    source,
    mapping,
    targets,
    existing,
    checked,
    done,
    error: error ?? readError,
    problem: source && mappingProblem(mapping, texts.imports, upsertFieldOf(existing)),
    isReady: (source !== undefined || (file !== undefined && isNdjson(file))) && !isReading && done === undefined,
    isReading,
    run,
    stop,
    read: change(read),
    refusedChoice: input.refusedChoice,
    chooseField: change(chooseField),
    setExisting: change(setExisting),
  };
}
