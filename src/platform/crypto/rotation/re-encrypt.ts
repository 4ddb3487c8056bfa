import { ciphertextHead, DecryptionError, type Keyring } from '../keyring.ts';
import type { EncryptedPlace, Replacement, StoredValue } from './encrypted-place.ts';

/** Callbacks for re-encryption. */
export interface Watching {
  /** Runs before the first value is replaced. */
  beforeWriting(): Promise<void>;
  replaced(place: EncryptedPlace, values: number): void;
  /** Called when values of the lost key were set to null. */
  gaveUp(values: number): void;
  /** Called for a value that no key decrypts. It stays unchanged. */
  undecryptable(value: StoredValue): void;
  /** Whether to stop before the next batch. */
  isStopped(): boolean;
}

function reEncrypted(
  keyring: Keyring,
  values: readonly StoredValue[],
  watching: Watching,
  lost: string | undefined,
): Replacement[] {
  return values.flatMap((value): Replacement[] => {
    const context = value.column.context(value.id);
    try {
      return [{ ...value, next: keyring.encrypt(keyring.decrypt(value.text, context), context) }];
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      if (lost !== undefined && value.text.startsWith(ciphertextHead(lost))) return [{ ...value, next: null }];
      watching.undecryptable(value);
      return [];
    }
  });
}

/**
 * Goes through a place once, in batches, and re-encrypts the values that are not under the newest key. Rows that are being changed
 * concurrently are left for the next pass.
 *
 * @param lost a key that is permanently missing from the ring: values under it are given up if the place allows it
 */
export async function reEncrypt(
  place: EncryptedPlace,
  keyring: Keyring,
  watching: Watching,
  lost: string | undefined,
): Promise<void> {
  let stretch = await place.whole();
  while (stretch !== undefined && !watching.isStopped()) {
    const values = await place.stale(stretch, keyring.keyIds[0]!);
    const all = reEncrypted(keyring, values, watching, place.canGiveUp ? lost : undefined);
    const givenUp = all.filter(({ next }) => next === null);
    const replacements = all.filter(({ next }) => next !== null);
    if (all.length > 0) await watching.beforeWriting();
    if (replacements.length > 0) watching.replaced(place, await place.replace(replacements));
    if (givenUp.length > 0) watching.gaveUp(await place.replace(givenUp));
    const at: string | undefined = values.length > 0 ? values.at(-1)!.row : await place.skip(stretch);
    stretch = at === undefined ? undefined : { ...stretch, after: at };
  }
}
