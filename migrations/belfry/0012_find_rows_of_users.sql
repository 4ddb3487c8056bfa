DROP INDEX "pushes_unsent_index";
