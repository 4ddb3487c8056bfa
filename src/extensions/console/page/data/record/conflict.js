import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../components/feedback.js';
import { JsonText } from '../editors/rules.js';
import { isSame, isSecret, plainText } from '../format.js';
import { fieldValue } from '../schema.js';

/** A value as text; references by the labels that are known. */
function textOf(field, value, labels) {
  if (value instanceof JsonText) return value.text;
  const label = field.type === 'ref' ? labels?.[field.target]?.[value] : undefined;
  return label === undefined ? plainText(value) : `${label} (${value})`;
}

/** The same value for both: `{ id }` of a file, or its metadata. */
const comparable = (value) => (value instanceof JsonText ? value.parse() : value);

/** Compares three versions of each field: as it was read, as it is stored now, and as the user changed it. */
function compare(resource, { base, theirs, draft }) {
  return resource.fields.flatMap((field) => {
    const [before, now] = [fieldValue(base, field.name), fieldValue(theirs, field.name)];
    const isMine = Object.hasOwn(draft, field.name);
    const isTheirs = !isSame(before, now);
    if (!isMine && !isTheirs) return [];
    const mine = isMine ? draft[field.name] : undefined;
    const isEqual = isMine && !isSecret(now) && isSame(comparable(mine), now);
    return [{ field, before, now, mine, isMine, isTheirs, isConflict: isMine && isTheirs && !isEqual }];
  });
}

function Choice({ name, text, isChosen, onChoose, label }) {
  return html`<label class=${`version ${isChosen ? 'chosen' : ''}`}>
    <span><input type="radio" name=${`choice-${name}`} checked=${isChosen} onChange=${onChoose} />${label}</span>
    <pre>${text}</pre>
  </label>`;
}

const Version = ({ label, text, isKept }) => html`<div class=${`version ${isKept ? 'chosen' : ''}`}>
  <span>${label}</span><pre>${text}</pre>
</div>`;

function ConflictDialog({ resource, versions, close }) {
  const rows = compare(resource, versions);
  const { labels } = versions;
  const conflicts = rows.filter(({ isConflict }) => isConflict);
  const [choices, setChoices] = useState({});
  const isMissing = conflicts.some(({ field }) => choices[field.name] === undefined);
  const keep = ({ isMine, isConflict, field }) => isMine && (!isConflict || choices[field.name] === 'mine');
  const finish = () => {
    const kept = rows.filter(keep).map(({ field, mine }) => [field.name, mine]);
    close(Object.fromEntries(kept));
  };
  return html`<${Dialog} title="The record has changed since you opened it" onClose=${() => close(undefined)} wide=${true}>
    <p>
      ${
        conflicts.length === 0
          ? 'You changed different fields; saving keeps all changes.'
          : 'Choose a version of each field that both of you have changed. All other changes are kept.'
      }
    </p>
    <div class="conflict">
      ${rows.map(
        ({ field, before, now, mine, isMine, isTheirs, isConflict }) => html`<fieldset key=${field.name}>
          <legend>${field.name}</legend>
          <${Version} label="Before" text=${textOf(field, before, labels)} />
          ${
            isConflict
              ? html`<${Choice}
                    name=${field.name}
                    label="Stored now"
                    text=${textOf(field, now, labels)}
                    isChosen=${choices[field.name] === 'theirs'}
                    onChoose=${() => setChoices({ ...choices, [field.name]: 'theirs' })}
                  />
                  <${Choice}
                    name=${field.name}
                    label="Yours"
                    text=${textOf(field, mine, labels)}
                    isChosen=${choices[field.name] === 'mine'}
                    onChoose=${() => setChoices({ ...choices, [field.name]: 'mine' })}
                  />`
              : html`<${Version} label="Stored now" text=${textOf(field, now, labels)} isKept=${isTheirs && !isMine} />
                  <${Version} label="Yours" text=${isMine ? textOf(field, mine, labels) : 'not changed'} isKept=${isMine} />`
          }
        </fieldset>`,
      )}
    </div>
    <footer>
      <button type="button" onClick=${() => close(undefined)}>Continue editing</button>
      <button type="button" class="primary" disabled=${isMissing} onClick=${finish}>Save with these choices</button>
    </footer>
  <//>`;
}

/**
 * Shows the three versions of a record and lets the user choose.
 *
 * @param {{ base: any, theirs: any, draft: any, labels: any }} versions as it was read, as it is stored now, the changes to `base`, and the
 *   labels of references
 * @returns {Promise<any>} the changes to `theirs`; undefined if the user continues to edit
 */
export const resolveConflict = (resource, versions) =>
  openDialog(({ close }) => html`<${ConflictDialog} resource=${resource} versions=${versions} close=${close} />`);
