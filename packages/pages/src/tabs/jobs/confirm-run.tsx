import { Code, Dialog, isObject, openDialog } from '../../console/kit.ts';
import { shownInput } from './input-draft.ts';
import { ShownRows } from './shown.tsx';
import { timeText } from './status.tsx';
import { texts } from './texts.ts';
import type { KindDescription } from './types.ts';

const { form: words } = texts;

/** When a job starts. @param hasValues whether its input follows */
function startText(runAt: string, hasValues: boolean): string {
  if (runAt === '') return hasValues ? words.startsNow : words.startsNowBare;
  return hasValues ? words.startsAt(timeText(runAt)) : words.startsAtBare(timeText(runAt));
}

function InputValues({ kind, input }: { kind: KindDescription; input: unknown }) {
  if (isObject(input)) return <ShownRows rows={shownInput(kind.input?.fields ?? [], input)} />;
  return <Code text={JSON.stringify(input, null, 2)} label={words.input} />;
}

/**
 * Shows what will run, and asks before it does.
 *
 * @param run `runAt`: empty for now
 * @returns whether the user agrees
 */
export function confirmRun(
  kind: KindDescription,
  { input, runAt }: { input: unknown; runAt: string },
): Promise<boolean> {
  return openDialog<boolean>(({ close }) => (
    <Dialog title={words.question(kind.label)} onClose={() => close(false)}>
      {kind.description && <p class="soft">{kind.description}</p>}
      <p>{startText(runAt, input !== undefined)}</p>
      {input !== undefined && <InputValues kind={kind} input={input} />}
      <footer>
        <button type="button" onClick={() => close(false)}>
          {words.cancel}
        </button>
        <button type="button" class="primary" onClick={() => close(true)}>
          {runAt === '' ? words.runNow : words.runLater}
        </button>
      </footer>
    </Dialog>
  ));
}
