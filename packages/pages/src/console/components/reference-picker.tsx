import type { TargetedEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { toRequestError } from '../../kit/request.ts';
import { call } from '../api.ts';
import { resourceOf, userResource } from '../data/schema.ts';
import { texts } from '../texts.ts';

const LIMIT = 20;
const TYPING_MS = 200;

interface Option {
  id: string;
  label: string;
  /** Of a user. */
  email?: string;
}

/** Finds records by their label or id, newest first without a text. */
async function findReferences(resource: string, text: string, limit = LIMIT) {
  const query = new URLSearchParams({ limit: String(limit), ...(text.trim() === '' ? {} : { q: text.trim() }) });
  return (await call<Option[]>(`/references/${encodeURIComponent(resource)}?${query}`)).data;
}

/** Labels that are known already, by resource and id. */
const knownLabels = new Map<string, string>();

/** Keeps the label of a record that was chosen, so that showing it needs no request. */
const rememberLabel = (resource: string, { id, label }: Option) => knownLabels.set(`${resource} ${id}`, label);

/**
 * The label of a record; its id until the label is known, or if there is no such record.
 *
 * @param resource undefined: nothing is read
 */
export function useReferenceLabel(resource: string | undefined, id: string): string {
  const [, setLoaded] = useState(0);
  const key = `${resource} ${id}`;
  useEffect(() => {
    if (resource === undefined || knownLabels.has(key)) return;
    findReferences(resource, id, 1)
      .then(([found]) => {
        if (found?.id === id) rememberLabel(resource, found);
        setLoaded((count) => count + 1);
      })
      // The id is shown instead.
      .catch(() => undefined);
  }, [key]);
  return knownLabels.get(key) ?? id;
}

/**
 * The found records while the picker is open; undefined while the first ones are read. They stay while those for another text are read.
 *
 * @returns `isCurrent`: whether they belong to the text
 */
function useFound(resource: string, text: string, isOpen: boolean) {
  const [found, setFound] = useState<{ of?: string; options?: Option[]; error?: string }>({});
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    const show = (next: typeof found) => isCurrent && setFound(next);
    const timer = setTimeout(
      () => {
        findReferences(resource, text)
          .then((options) => show({ of: text, options }))
          .catch((error) => show({ of: text, options: [], error: toRequestError(error).message }));
      },
      text === '' ? 0 : TYPING_MS,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [resource, text, isOpen]);
  return { ...found, isCurrent: found.of === text };
}

/** The state of a picker, and the handlers of its input. */
function useCombobox(resource: string, onChoose: (option: Option) => void, isAlwaysOpen: boolean) {
  const [text, setText] = useState('');
  const [isOpened, setOpen] = useState(false);
  const isOpen = isAlwaysOpen || isOpened;
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const { options, error, isCurrent } = useFound(resource, text, isOpen);
  const close = () => {
    setOpen(false);
    setText('');
  };
  const choose = (option: Option | undefined) => {
    close();
    if (option !== undefined) onChoose(option);
  };
  const move = (step: number) => {
    const count = options?.length ?? 0;
    if (count === 0) return;
    const next = (active + step + count) % count;
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (isOpen) move(event.key === 'ArrowDown' ? 1 : -1);
      else setOpen(true);
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault();
      // The records of an earlier text are not what the user means.
      if (isCurrent) choose(options?.[active]);
    } else if (event.key === 'Escape' && isOpen && !isAlwaysOpen) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  const handlers = {
    onFocus: () => setActive(0),
    onClick: () => setOpen(true),
    onInput: (event: TargetedEvent<HTMLInputElement>) => {
      setText(event.currentTarget.value);
      setActive(0);
      setOpen(true);
    },
    onKeyDown: handleKey,
    onBlur: close,
  };
  return { text, isOpen, active, list, options, error, isCurrent, choose, handlers };
}

/** The found records, of which one is active. */
function OptionList({
  id,
  resource,
  combobox: { isOpen, active, list, options, choose },
}: {
  id: string;
  resource: string;
  combobox: ReturnType<typeof useCombobox>;
}) {
  return (
    <ul
      id={`${id}-list`}
      role="listbox"
      aria-label={texts.components.records(resourceOf(resource)?.plural ?? resource)}
      ref={list}
      hidden={!isOpen || !options?.length}
    >
      {options?.map((option, index) => (
        <li
          key={option.id}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active ? 'true' : 'false'}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(option);
          }}
        >
          <span>{option.label}</span>
          {option.email && option.email !== option.label ? (
            <span class="soft">{option.email}</span>
          ) : (
            <code>{option.id}</code>
          )}
        </li>
      ))}
    </ul>
  );
}

interface ReferencePickerProps {
  id: string;
  /** The name of a resource. */
  resource: string;
  value: string | null | undefined;
  /** Of the value; left out: it is read. */
  label?: string | undefined;
  onChange: (id: string, label?: string) => unknown;
  disabled?: boolean | undefined;
  invalid?: boolean | undefined;
  describedBy?: string | undefined;
  placeholder?: string | undefined;
  /** The list needs no click and stays, as in a dialog that asks for nothing else. */
  isAlwaysOpen?: boolean;
}

/** A search field that picks a record. The keyboard works as in every combobox: arrows, Enter, Escape. */
export function ReferencePicker(props: ReferencePickerProps) {
  const { id, resource, value, onChange, disabled, invalid, describedBy, placeholder, isAlwaysOpen = false } = props;
  const choose = (option: Option) => {
    rememberLabel(resource, option);
    onChange(option.id, option.label);
  };
  const combobox = useCombobox(resource, choose, isAlwaysOpen);
  const { text, isOpen, active, options, error, isCurrent, handlers } = combobox;
  const knownLabel = useReferenceLabel(props.label === undefined && value ? resource : undefined, value ?? '');
  const label = props.label ?? knownLabel;
  const hint =
    resource === userResource()?.name
      ? texts.components.findUser
      : texts.components.findRecord(resourceOf(resource)?.plural ?? resource);
  return (
    <div class="picker">
      <input
        id={id}
        role="combobox"
        aria-expanded={isOpen ? 'true' : 'false'}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && options?.length ? `${id}-${active}` : undefined}
        aria-invalid={invalid ? 'true' : undefined}
        aria-describedby={describedBy}
        autocomplete="off"
        spellcheck={false}
        disabled={disabled}
        placeholder={isOpen && value ? label : (placeholder ?? hint)}
        value={isOpen ? text : value == null ? '' : label}
        {...handlers}
      />
      <OptionList id={id} resource={resource} combobox={combobox} />
      {isOpen && !options?.length && (
        <p class="picker-note" role="status">
          {error ?? (isCurrent ? texts.components.noRecord : texts.components.searching)}
        </p>
      )}
    </div>
  );
}
