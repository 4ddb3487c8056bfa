import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { focusFirstError } from '../../kit/form-field.tsx';
import { Icon } from '../../kit/icons.tsx';
import { texts as kitTexts } from '../../kit/texts.ts';
import type { OpenApiDocument } from '../document.ts';
import { needsSignIn, type Operation } from '../operations.ts';
import type { Reference } from '../reference.ts';
import { texts } from '../texts.ts';
import { CallerButton } from './caller-dialog.tsx';
import { CodeSamples } from './code-samples.tsx';
import { buildRequest, checkValues, initialValues, type Values } from './request.ts';
import { RequestForm } from './request-form.tsx';
import { ResponseView } from './response.tsx';
import { headerOf } from './send.ts';
import { SentBefore } from './sent-before.tsx';
import { useSender } from './use-sender.ts';

interface OperationProps {
  operation: Operation;
  reference: Reference;
}

/** Whether the success of an operation is a stream that stays open. */
const isStream = ({ responses }: Operation) =>
  Object.values(responses).some(({ content }) => content?.['text/event-stream'] !== undefined);

/** As which caller the request is sent, and what to know before. */
function FormHead({ operation, reference }: OperationProps) {
  const { callers, warnsOfProduction } = reference.site;
  return (
    <header>
      <div>
        <h2>{texts.page.tryIt}</h2>
        {warnsOfProduction && operation.method !== 'GET' && <p class="soft">{texts.request.production}</p>}
        {needsSignIn(operation) && callers.current.value.kind === 'visitor' && (
          <p class="soft">
            <Icon name="lock" size={12} /> {texts.request.needsSignIn}
          </p>
        )}
      </div>
      <CallerButton reference={reference} />
    </header>
  );
}

function SendButtons({
  isDangerous,
  isSending,
  onCancel,
  onReset,
}: {
  isDangerous: boolean;
  isSending: boolean;
  onCancel: () => void;
  onReset: () => void;
}) {
  return (
    <p class="reference-send">
      <button
        type="submit"
        class={isDangerous ? 'danger' : 'primary'}
        disabled={isSending}
        aria-busy={isSending ? 'true' : undefined}
      >
        <Icon name="bolt" />
        {isSending ? texts.request.sending : texts.sendRequest}
      </button>
      {isSending && (
        <button type="button" onClick={onCancel}>
          {kitTexts.cancel}
        </button>
      )}
      <button type="button" class="plain" onClick={onReset}>
        {texts.request.reset}
      </button>
    </p>
  );
}

/** Scrolls to its content when that changes. */
function ScrolledTo({ value, children }: { value: unknown; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [value]);
  return <div ref={element}>{children}</div>;
}

/** What the user has filled in. */
function useFormValues(operation: Operation, document: OpenApiDocument) {
  const [values, setValues] = useState(() => initialValues(operation, document));
  const [formKey, setFormKey] = useState(0);
  const [errors, setErrors] = useState<Record<string, string>>({});
  /** Replaces values from outside of the form, which then is created anew. */
  const replaceValues = (changes: Partial<Values>): Values => {
    const next = { ...values, ...changes };
    setValues(next);
    setFormKey(formKey + 1);
    setErrors({});
    return next;
  };
  /** Returns whether the request can be sent. */
  const check = (): boolean => {
    const found = checkValues(operation, values);
    setErrors(found);
    return Object.keys(found).length === 0;
  };
  return { values, setValues, errors, formKey, replaceValues, check };
}

/** Sends requests of an operation to the app, and shows the code for them. */
export function Runner({ operation, reference }: OperationProps) {
  const { document } = reference;
  const { values, setValues, errors, formKey, replaceValues, check } = useFormValues(operation, document);
  const { isSending, received, error, send, cancel } = useSender(operation, reference);
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (check()) send(values);
    else focusFirstError(form.current);
  };
  const hasPages = operation.parameters.some(({ name }) => name === 'after');
  const showNext = (after: string) => send(replaceValues({ query: { ...values.query, after, page: '' } }));
  return (
    <div class="reference-runner">
      <form ref={form} class="reference-form" aria-label={texts.request.label} onSubmit={submit} novalidate>
        <FormHead operation={operation} reference={reference} />
        <RequestForm
          key={formKey}
          operation={operation}
          document={document}
          values={values}
          errors={errors}
          lastTag={received && headerOf(received, 'etag')}
          onChange={setValues}
        />
        {isStream(operation) ? (
          <p class="soft">{texts.request.stream}</p>
        ) : (
          <SendButtons
            isDangerous={operation.method === 'DELETE'}
            isSending={isSending}
            onCancel={cancel}
            onReset={() => replaceValues(initialValues(operation, document))}
          />
        )}
      </form>
      {error !== undefined && (
        <p class="banner bad" role="alert">
          {error}
        </p>
      )}
      {received !== undefined && (
        <ScrolledTo value={received}>
          <ResponseView received={received} onNext={hasPages ? showNext : undefined} />
        </ScrolledTo>
      )}
      <CodeSamples
        operation={operation}
        request={buildRequest(operation, values)}
        values={values}
        document={document}
      />
      <SentBefore operation={operation} onRestore={replaceValues} />
    </div>
  );
}
