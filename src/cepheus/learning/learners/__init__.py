"""The learners: one for each aspect of rules, all with the contract of ``cepheus.learning.state.Learner``."""
