import { useEffect } from 'preact/hooks';
import { confirmAction } from '../../kit/dialog.tsx';
import { guardLeaving } from '../router.ts';

const confirmLeaving = () =>
  confirmAction({
    title: 'Leave without saving?',
    text: 'Your changes are not saved.',
    action: 'Leave',
    isDangerous: true,
  });

/** Asks before the changes of a form would be lost. @param isDirty whether there are changes */
export function useLeaveGuard(isDirty: boolean): void {
  useEffect(() => (isDirty ? guardLeaving(confirmLeaving) : undefined), [isDirty]);
}

/** Lets the page be left without a question, once its changes are saved. */
export const allowLeaving = (): void => guardLeaving(async () => true)();
