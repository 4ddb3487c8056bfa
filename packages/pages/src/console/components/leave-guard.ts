import { useEffect } from 'preact/hooks';
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
  useEffect(() => (isDirty ? guardLeaving(confirmLeaving) : undefined), [isDirty]);
}

/** Lets the page be left without a question, once its changes are saved. */
export const allowLeaving = (): void => guardLeaving(async () => true)();
