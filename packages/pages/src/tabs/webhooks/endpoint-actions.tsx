import { ActionButton, call, navigate } from '../../console/kit.ts';
import type { Delivery, Endpoint, NewSecret } from './responses.ts';
import { showSecret } from './secret.tsx';
import { HOME } from './states.tsx';
import { texts } from './texts.ts';

/** The reasons for which only the owner can enable an endpoint again. */
const ONLY_OWNER: readonly (string | null)[] = ['password_reset', 'key_ended'];

const DISABLE = {
  title: texts.actions.disableQuestion,
  text: texts.actions.disableText,
  action: texts.actions.disable,
};
const ROTATE = {
  title: texts.actions.rotateQuestion,
  text: texts.actions.rotateText,
  action: texts.actions.replace,
};
const DELETE = {
  title: texts.actions.deleteQuestion,
  text: texts.actions.deleteText,
  action: texts.actions.delete,
  isDangerous: true,
};

interface ActionsProps {
  endpoint: Endpoint;
  /** Of the endpoint, below `/console/api`. */
  path: string;
  onChanged: () => Promise<void>;
}

function EnabledButton({ endpoint, path, onChanged }: ActionsProps) {
  const { enabled, disabledReason, isOwnerActive } = endpoint;
  const toggle = async () => {
    await call(path, { method: 'PATCH', body: { enabled: !enabled } });
    await onChanged();
  };
  return enabled ? (
    <ActionButton run={toggle} done={texts.actions.disabled} disabled={!isOwnerActive} confirm={DISABLE}>
      {texts.actions.disable}
    </ActionButton>
  ) : (
    <ActionButton
      run={toggle}
      done={texts.actions.enabled}
      disabled={!isOwnerActive || ONLY_OWNER.includes(disabledReason)}
    >
      {texts.actions.enable}
    </ActionButton>
  );
}

/** What an administrator can do with an endpoint. */
export function EndpointActions({
  onTested,
  ...props
}: ActionsProps & { onTested: (delivery: Delivery) => Promise<void> }) {
  const { endpoint, path, onChanged } = props;
  const { id, enabled, isOwnerActive } = endpoint;
  const test = async () => onTested((await call<Delivery>(`${path}/test`, { method: 'POST' })).data);
  const rotate = async () => {
    const { data } = await call<NewSecret>(`${path}/rotate-secret`, { method: 'POST', body: {} });
    await showSecret(data);
    await onChanged();
  };
  const remove = async () => {
    await call(path, { method: 'DELETE' });
    navigate(`${HOME}/endpoints`);
  };
  return (
    <>
      <ActionButton kind="primary" run={test} disabled={!enabled || !isOwnerActive}>
        {texts.actions.test}
      </ActionButton>
      <a class="button" href={`${HOME}/endpoints/${id}/edit`}>
        {texts.actions.edit}
      </a>
      <EnabledButton {...props} />
      <ActionButton run={rotate} disabled={!isOwnerActive} confirm={ROTATE}>
        {texts.actions.rotate}
      </ActionButton>
      <ActionButton kind="danger quiet" run={remove} done={texts.actions.deleted} confirm={DELETE}>
        {texts.actions.delete}
      </ActionButton>
    </>
  );
}
