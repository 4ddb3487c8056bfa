import { ciphertextPrefix, DecryptionError, type Keyring } from '../keyring.ts';
import type { EncryptedPlace, Replacement, StoredValue } from './encrypted-place.ts';

/** Callbacks for re-encryption. */
export interface RotationCallbacks {
  /** Runs before the first value is replaced. */
  beforeWriting(): Promise<void>;
  /** Called with the number of values that were re-encrypted in a batch. */
  replaced(place: EncryptedPlace, values: number): void;
  /** Called with the number of values of the lost key that were set to null. */
  gaveUp(values: number): void;
  /** Called for a value that no key of the ring decrypts. The value stays unchanged. */
  undecryptable(value: StoredValue): void;
  /** Whether to stop before the next batch. */
  isStopped(): boolean;
}

function reEncryptValues(
  keyring: Keyring,
  values: readonly StoredValue[],
  callbacks: RotationCallbacks,
  lostKeyId: string | undefined,
): Replacement[] {
  return values.flatMap((value): Replacement[] => {
    const context = value.column.context(value.id);
    try {
      return [{ ...value, next: keyring.encrypt(keyring.decrypt(value.text, context), context) }];
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      if (lostKeyId !== undefined && value.text.startsWith(ciphertextPrefix(lostKeyId)))
        return [{ ...value, next: null }];
      callbacks.undecryptable(value);
      return [];
    }
  });
}

/**
 * Goes through a place once, in batches, and re-encrypts the values that are not under the newest key. Rows that are being changed
 * concurrently are left for the next pass.
 *
 * @param lostKeyId a key that is permanently missing from the ring: values under it are given up if the place allows it
 */
export async function reEncryptPlace(
  place: EncryptedPlace,
  keyring: Keyring,
  callbacks: RotationCallbacks,
  lostKeyId: string | undefined,
): Promise<void> {
  let range = await place.findRowRange();
  while (range !== undefined && !callbacks.isStopped()) {
    const values = await place.findStaleValues(range, keyring.keyIds[0]!);
    const replacementsAndDiscards = reEncryptValues(
      keyring,
      values,
      callbacks,
      place.canDiscard ? lostKeyId : undefined,
    );
    const discards = replacementsAndDiscards.filter(({ next }) => next === null);
    const replacements = replacementsAndDiscards.filter(({ next }) => next !== null);
    if (replacementsAndDiscards.length > 0) await callbacks.beforeWriting();
    if (replacements.length > 0) callbacks.replaced(place, await place.replaceValues(replacements));
    if (discards.length > 0) callbacks.gaveUp(await place.replaceValues(discards));
    const at: string | undefined = values.length > 0 ? values.at(-1)!.row : await place.findLastScannedRow(range);
    range = at === undefined ? undefined : { ...range, after: at };
  }
}
