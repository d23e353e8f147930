"""What editors are told of rule files: colours, mistakes, completions, meanings, where names are defined and used."""
