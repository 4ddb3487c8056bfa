import { useLayoutEffect } from 'preact/hooks';
import { confirmAction } from '../../kit/dialog.tsx';
import { guardLeaving } from '../router.ts';
import { texts } from '../texts.ts';

const confirmLeaving = () =>
  confirmAction({
    ...texts.components.leave,
    isDangerous: true,
  });

/** Asks before the changes of a form would be lost. @param isDirty whether there are changes */
export function useLeaveGuard(isDirty: boolean): void {
  // Not `useEffect`, which runs after the next paint: a link that is opened before then would lose the changes.
  useLayoutEffect(() => (isDirty ? guardLeaving(confirmLeaving) : undefined), [isDirty]);
}

/** Lets the page be left without a question, once its changes are saved. */
export const allowLeaving = (): void => guardLeaving(async () => true)();
