import { Dialog, openDialog } from '../../kit/dialog.tsx';
import { Icon } from '../../kit/icons.tsx';
import { ReferencePicker, useReferenceLabel } from '../components/reference-picker.tsx';
import { userResource, viewer } from '../data/schema.ts';
import { setParams } from '../router.ts';
import { texts } from '../texts.ts';

/** The name of the viewer; undefined if the page shows everything. */
function useViewerLabel() {
  const id = viewer();
  const isUser = id !== undefined && id !== 'visitor' && id !== 'system';
  const label = useReferenceLabel(isUser ? userResource()?.name : undefined, id ?? '');
  if (isUser) return label;
  return id === 'visitor' ? texts.shell.viewAs.aVisitor : undefined;
}

/** The parameters that a change of the viewer must not keep: the position belongs to the list of the former viewer. */
const viewAs = (id: string | undefined) => setParams({ as: id, after: undefined });

function ViewerDialog({ close }: { close: (result: undefined) => void }) {
  const users = userResource();
  const choose = (id: string | undefined) => {
    close(undefined);
    viewAs(id);
  };
  return (
    <Dialog title={texts.shell.viewAs.title} onClose={() => close(undefined)}>
      <p>{texts.shell.viewAs.intro}</p>
      <div class="choices">
        <button type="button" onClick={() => choose(undefined)}>
          <b>{texts.shell.viewAs.everything}</b>
          <span class="soft">{texts.shell.viewAs.everythingHint}</span>
        </button>
        <button type="button" onClick={() => choose('visitor')}>
          <b>{texts.shell.viewAs.visitor}</b>
          <span class="soft">{texts.shell.viewAs.visitorHint}</span>
        </button>
      </div>
      {users && (
        <div class="field">
          <label for="viewer-picker">{texts.shell.viewAs.user}</label>
          <ReferencePicker
            id="viewer-picker"
            resource={users.name}
            value={null}
            onChange={choose}
            isAlwaysOpen={true}
          />
        </div>
      )}
    </Dialog>
  );
}

/** The switch in the header. */
export function ViewAsButton() {
  const label = useViewerLabel();
  const open = () => openDialog<undefined>(ViewerDialog);
  return (
    <button type="button" class={`view-as ${label === undefined ? '' : 'active'}`} onClick={open}>
      <Icon name="eye" />
      <span class="text">{label === undefined ? texts.shell.viewAs.title : texts.shell.viewAs.as(label)}</span>
    </button>
  );
}

/** Says whose view is shown. */
export function ViewAsBanner() {
  const label = useViewerLabel();
  if (label === undefined) return null;
  return (
    <div class="banner view-as-banner" role="status">
      <Icon name="eye" />
      <span>
        {texts.shell.viewAs.banner.before} <b>{label}</b> {texts.shell.viewAs.banner.after}
      </span>
      <button type="button" class="plain" onClick={() => viewAs(undefined)}>
        {texts.shell.viewAs.showEverything}
      </button>
    </div>
  );
}
